// Package firefox writes timelines in the processed format of the Firefox profiler,
// https://profiler.firefox.com, version 48: JSON that includes all names. The viewer
// converts it to its current version, and runs in the browser without a server.
//
// For each thread, the items of the timeline become:
//
//   - samples with stacks: its samples, each of weight 1
//   - slices, instants, wake-ups: markers, with the fields of their events and the stack of
//     their begin; one kind of marker for each kind of event
//   - a switch: a marker "on CPU" for the time that the thread ran, if the begin of that time is known
//
// The format has no place for counters, unfinished runs on a CPU, flows, and the stack at
// the end of a slice. The counts of missing events are in the profile's information. The
// format stores each column as a whole, so all data is kept in memory until the end. Most
// bounds it; later items are only counted.
package firefox

import (
	"bufio"
	"io"
	"slices"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/result/timeline"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// Most bounds the samples and markers of a file.
const Most = 1 << 20

// A Writer collects a profile. It implements timeline.Writer.
type Writer struct {
	w       io.Writer
	opt     timeline.About
	room    room
	first   event.Time
	begun   bool
	threads threads
	kinds   kinds
	losses  []loss
	line    []*result.Frame
	libs    libs
}

// room counts the collected items, of at most most, and the items beyond.
type room struct {
	most, used int
	dropped    uint64
}

// threads has the threads of the profile.
type threads struct {
	list     []*thread
	tracks   map[*timeline.Track]*thread
	byNumber map[int32]*thread // by tid; only the latest thread of a tid
	running  map[int32]run     // by CPU
}

// kinds has the kinds of markers, by name and in the order in which they were seen.
type kinds struct {
	of   map[string]*kind
	list []*kind
}

// libs has the files of frames.
type libs struct {
	names  texts
	builds []string // build-ids, by the number of the name
}

// A kind describes the markers of one kind of event.
type kind struct {
	name   string
	fields []string      // names of arguments
	last   *timeline.Arg // the first argument of the marker seen last
}

type loss struct {
	name string
	n    float64
}

type run struct {
	tid   int32
	since event.Time
}

// New makes a Writer. It writes the file only when it is closed.
func New(w io.Writer, o timeline.About) *Writer {
	p := &Writer{w: w, opt: o, room: room{most: Most}, kinds: kinds{of: map[string]*kind{}}}
	p.threads = threads{tracks: map[*timeline.Track]*thread{}, byNumber: map[int32]*thread{},
		running: map[int32]run{}}
	return p
}

// Rename implements timeline.Writer.
func (p *Writer) Rename(t *timeline.Track) {
	if th := p.threads.tracks[t]; th != nil {
		th.name = t.Name
	}
}

// ForgetStacks implements timeline.Writer.
func (p *Writer) ForgetStacks() {
	for _, t := range p.threads.list {
		clear(t.stackIndex)
	}
}

// Flush implements timeline.Writer: nothing is written before Close.
func (p *Writer) Flush() error { return nil }

// Write implements timeline.Writer.
func (p *Writer) Write(it *timeline.Item) {
	if it.Kind == timeline.Counter {
		if at := it.Track.Parent; at != nil && at.Name == timeline.Missing {
			p.lost(it)
		}
		return // the format has no place for counters
	}
	if p.room.used >= p.room.most {
		p.room.dropped++
		return
	}
	p.room.used++
	// Items are ordered by their ends, so a later item may begin before the first
	// one.
	if !p.begun || it.Time < p.first {
		p.begun, p.first = true, it.Time
	}
	switch it.Kind {
	case timeline.Sample:
		t := p.thread(it.Track)
		t.samples.add(it.Time, t.stack(p, it.Stack))
	case timeline.Switch:
		p.switched(it)
	case timeline.Slice:
		p.thread(it.Track).marker(p, it, it.Time, it.End)
	default:
		p.thread(it.Track).marker(p, it, it.Time, -1)
	}
}

func (p *Writer) lost(it *timeline.Item) {
	for i := range p.losses {
		if p.losses[i].name == it.Name {
			p.losses[i].n = it.Value
			return
		}
	}
	p.losses = append(p.losses, loss{it.Name, it.Value})
}

// switched adds the marker "on CPU" for the thread that ran.
func (p *Writer) switched(it *timeline.Item) {
	s := &it.Sched
	was, seen := p.threads.running[s.CPU]
	p.threads.running[s.CPU] = run{int32(s.Next.TID), it.Time}
	if !seen || was.tid != int32(s.Prev.TID) || was.tid == 0 {
		return
	}
	t := p.threads.byNumber[was.tid]
	if t == nil {
		t = p.add(was.tid, it.Event.PID, string(plain.Append(nil, string(s.Prev.Comm))))
		p.threads.byNumber[was.tid] = t
	}
	ran := *it
	ran.Name, ran.Args, ran.Stack = "on CPU", nil, stack.None
	t.marker(p, &ran, was.since, it.Time)
}

// thread returns the thread of a track or of its parents. Tracks without a thread get a thread of
// the track's name.
func (p *Writer) thread(at *timeline.Track) *thread {
	if t := p.threads.tracks[at]; t != nil {
		return t
	}
	var t *thread
	switch {
	case at.Kind == timeline.OfThread:
		// A switch may have made it already; but a thread with another track
		// has ended, and its tid was reused.
		if t = p.threads.byNumber[at.TID]; t == nil || t.track != nil && t.track != at {
			t = p.add(at.TID, at.PID, at.Name)
			p.threads.byNumber[at.TID] = t
		}
		t.track, t.name = at, at.Name
	case at.Parent != nil && at.Kind == timeline.OfKey:
		t = p.thread(at.Parent)
	default:
		t = p.add(-1, -1, at.Name)
	}
	p.threads.tracks[at] = t
	return t
}

func (p *Writer) add(tid, pid int32, name string) *thread {
	t := &thread{tid: tid, pid: pid, name: name, stackIndex: map[stack.ID]int{}}
	p.threads.list = append(p.threads.list, t)
	return t
}

// kind returns the kind of an item's marker, and records the fields of its markers. Items of
// explained spans have too many different names, so they get the kind of their track.
func (p *Writer) kind(it *timeline.Item) *kind {
	name := it.Name
	if it.Event == nil {
		name = it.Track.Name
	}
	k := p.kinds.of[name]
	if k == nil {
		k = &kind{name: name}
		p.kinds.of[name] = k
		p.kinds.list = append(p.kinds.list, k)
	}
	if len(it.Args) == 0 || k.last == &it.Args[0] {
		return k
	}
	// Several streams of one name may have different fields.
	k.last = &it.Args[0]
	for i := range it.Args {
		if name := it.Args[i].Name; !slices.Contains(k.fields, name) {
			k.fields = append(k.fields, name)
		}
	}
	return k
}

// Close implements timeline.Writer.
func (p *Writer) Close() error {
	out := &printer{w: bufio.NewWriterSize(p.w, 1<<18)}
	p.print(out)
	if out.w.Flush() != nil || out.err != nil {
		if out.err == nil {
			out.err = out.w.Flush()
		}
		return &diag.Error{Op: "write", Subject: "firefox", Cause: out.err}
	}
	return nil
}

// Dropped returns the number of items that were left out because of Most.
func (p *Writer) Dropped() uint64 { return p.room.dropped }

// ms returns the milliseconds from the first item to a time.
func (p *Writer) ms(at event.Time) float64 { return float64(at-p.first) / 1e6 }

// key returns the name of a field in the data of a marker. Names that have another meaning
// in markers get a prefix.
func key(field string) string {
	switch field {
	case "type", "cause", "stack", "cpu", "woken", "category", "innerWindowID", "threadId":
		return "event." + field
	}
	return field
}

// appendArgs appends the fields of an event as members of an object. All are texts,
// since the viewer's numbers have only 53 bits.
func appendArgs(dst []byte, it *timeline.Item) []byte {
	for i := range it.Args {
		v := it.Args[i].Value(it.Event)
		var text []byte
		switch v.Kind {
		case timeline.NoArg:
			continue
		case timeline.ArrayArg:
			text = appendArray(nil, &v)
		case timeline.IntArg:
			text = strconv.AppendInt(nil, int64(v.Num), 10)
		case timeline.UintArg:
			text = strconv.AppendUint(nil, v.Num, 10)
		case timeline.FloatArg:
			text = strconv.AppendFloat(nil, v.Float(), 'g', -1, 64)
		case timeline.AddressArg:
			text = strconv.AppendUint([]byte("0x"), v.Num, 16)
		case timeline.TextArg:
			text = v.Text
		}
		dst = append(dst, ',')
		dst = appendString(dst, key(it.Args[i].Name))
		dst = append(dst, ':')
		dst = appendString(dst, string(plain.Append(nil, string(text))))
	}
	return dst
}

// appendArray appends an array as JSON.
func appendArray(dst []byte, v *timeline.ArgValue) []byte {
	dst = append(dst, '[')
	v.Elements(func(n int64, signed bool) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		if signed {
			dst = strconv.AppendInt(dst, n, 10)
		} else {
			dst = strconv.AppendUint(dst, uint64(n), 10)
		}
	})
	return append(dst, ']')
}
