package live

import (
	"bytes"
	"compress/gzip"
	"slices"
	"time"

	"ppscript/runtime/output"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
)

// A Frame has the results of one interval, or of the whole run if it has no intervals.
type Frame struct {
	Number  int
	records []byte // lines of JSON, compressed by gzip
	samples uint64
	loss    map[string]uint64
	whole   bool // its results are of the whole run so far
	// fleeting marks a frame that the next fleeting frame replaces.
	fleeting bool
}

// history has the newest frames, within bounds.
type history struct {
	frames []*Frame
	last   int // number of the newest frame
	bytes  int
}

func (h *history) first() int {
	if len(h.frames) == 0 {
		return 0
	}
	return h.frames[0].Number
}

func (h *history) add(f *Frame) {
	if n := len(h.frames); n > 0 && h.frames[n-1].fleeting && f.fleeting {
		h.bytes -= len(h.frames[n-1].records)
		h.frames = h.frames[:n-1]
	}
	h.last++
	f.Number = h.last
	h.frames = append(h.frames, f)
	h.bytes += len(f.records)
	drop := 0
	for len(h.frames)-drop > 1 && (len(h.frames)-drop > maxIntervals || h.bytes > maxIntervalBytes) {
		h.bytes -= len(h.frames[drop].records)
		drop++
	}
	h.frames = slices.Delete(h.frames, 0, drop)
}

// get returns the frame with a number; nil if it is dropped, or not there yet.
func (h *history) get(number int) *Frame {
	i, ok := slices.BinarySearchFunc(h.frames, number, func(f *Frame, n int) int { return f.Number - n })
	if !ok {
		return nil
	}
	return h.frames[i]
}

// builder makes frames.
type builder struct {
	packed   bytes.Buffer
	zip      *gzip.Writer
	json     render.Renderer
	some     bool // the frame has results
	fleeting bool
	frame    Frame
}

func newBuilder(about output.About) (*builder, error) {
	b := &builder{}
	b.zip, _ = gzip.NewWriterLevel(&b.packed, gzip.BestSpeed) // the level is valid
	var err error
	b.json, err = render.New(b.zip, render.Options{Format: "json", Clock: about.Clock, Page: true})
	return b, err
}

// meta records the counts of a result before it is shown.
func (b *builder) meta(m *result.Meta) {
	f := &b.frame
	if !b.some {
		*f = Frame{loss: map[string]uint64{}}
		b.some = true
	}
	f.samples = max(f.samples, m.TotalSamples)
	f.whole = f.whole || m.Samples == m.TotalSamples
	for _, c := range m.Loss.Counts() {
		if c.N > 0 {
			f.loss[c.Name] = max(f.loss[c.Name], c.N)
		}
	}
}

// end returns the finished frame; nil if it has no results.
func (b *builder) end() (*Frame, error) {
	if b == nil || !b.some {
		return nil, nil
	}
	if err := b.json.Flush(); err != nil {
		return nil, err
	}
	if err := b.zip.Close(); err != nil {
		return nil, err
	}
	f := b.frame
	f.records, f.fleeting = bytes.Clone(b.packed.Bytes()), b.fleeting
	b.some, b.fleeting = false, false
	if b.packed.Reset(); b.packed.Cap() > 1<<20 {
		b.packed = bytes.Buffer{} // it was grown by one large interval
	}
	b.zip.Reset(&b.packed)
	return &f, nil
}

// recorder makes single records.
type recorder struct {
	text *bytes.Buffer
	json render.Renderer
}

func newRecorder(about output.About) (recorder, error) {
	r := recorder{text: &bytes.Buffer{}}
	var err error
	r.json, err = render.New(r.text, render.Options{Format: "json", Clock: about.Clock})
	return r, err
}

// of returns the record that show makes, valid until the next call.
func (r *recorder) of(show func(render.Renderer) error) ([]byte, error) {
	if r.text.Reset(); r.text.Cap() > 1<<20 {
		*r.text = bytes.Buffer{}
	}
	if err := show(r.json); err != nil {
		return nil, err
	}
	err := r.json.Flush()
	return r.text.Bytes(), err
}

// A list has the newest records of a kind, within bounds.
type list struct {
	most, mostBytes int

	total, bytes int // number of all records so far; size of the kept ones
	skipped      int // number of records that were dropped or never kept
	items        []item
}

type item struct {
	number int
	text   []byte
	weight int64
}

func (l *list) skip() {
	l.total++
	l.skipped++
}

// add keeps a record. When there are too many, it drops the record of least weight in the
// older half, the oldest of equal ones. So the list has the newest records, and the
// heaviest of all.
func (l *list) add(text []byte, weight int64) {
	l.total++
	if len(text) > l.mostBytes/4 {
		l.skipped++
		return
	}
	l.items = append(l.items, item{l.total, text, weight})
	l.bytes += len(text)
	for len(l.items) > l.most || l.bytes > l.mostBytes {
		goes := 0
		for i := range l.items[:(len(l.items)+1)/2] {
			if l.items[i].weight < l.items[goes].weight {
				goes = i
			}
		}
		l.bytes -= len(l.items[goes].text)
		l.items = slices.Delete(l.items, goes, goes+1)
		l.skipped++
	}
}

// since returns the kept records after a number.
func (l *list) since(number int) [][]byte {
	var out [][]byte
	for i := range l.items {
		if l.items[i].number > number {
			out = append(out, l.items[i].text)
		}
	}
	return out
}

// linesEach bounds the lines of events that are kept of each tenth of a second. A run
// with more lines is not slowed down by making records that nobody could read.
const linesEach = 200

// A budget bounds the number of items that are kept of each tenth of a second.
type budget struct {
	now        func() time.Time
	each       int // items in each tenth of a second
	until      time.Time
	remaining  int
	sinceClock int // refused items since the clock was read
}

// take uses one item of the budget; it returns false if none is left.
func (b *budget) take() bool {
	if !b.takes() {
		return false
	}
	b.remaining--
	return true
}

// takes reports whether an item is left. It reads the clock only for every 64th
// refused item.
func (b *budget) takes() bool {
	if b.remaining > 0 {
		return true
	}
	if b.sinceClock++; b.sinceClock < 64 && !b.until.IsZero() {
		return false
	}
	b.sinceClock = 0
	now := b.now()
	if now.Before(b.until) {
		return false
	}
	b.until, b.remaining = now.Add(time.Second/10), b.each
	return true
}
