package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file reads the records of --format json, which docs/formats.md describes. Each interval
// becomes a part. If a file has only lines of events, they are counted in parts of equal length.

// mostRecord bounds the length of a record in bytes.
const mostRecord = 256 << 20

// errNothing is the reason if a file has nothing that can be compared.
var errNothing = errors.New("it has no tables, histograms, stacks or events to compare")

// Records reads the records of one source of a run, one after another.
type Records struct {
	c      *Comparison
	run    int
	source string
	parts  map[int64]*interval
	order  []int64 // the seqs of parts
	events []eventLine
	// Interval is the length of intervals; 0 if unknown, so that it is computed from
	// the records' begin and end.
	Interval time.Duration
}

// An interval is the number of a part, and its bounds on the clock of the
// events.
type interval struct {
	part       int
	begin, end int64
}

// eventLine is an event of a record of type "event".
type eventLine struct {
	time   int64
	result string
	label  string
	sample result.StackSample
}

// Records makes a reader for the records of a source, such as a file.
func (c *Comparison) Records(run int, source string) *Records {
	return &Records{c: c, run: run, source: source, parts: map[int64]*interval{}}
}

// Read adds all records of a file, and calls End.
func (r *Records) Read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 1<<16), mostRecord)
	for n := 1; lines.Scan(); n++ {
		if err := r.Add(lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return r.End()
}

type record struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// jsonColumn and the following types mirror docs/formats.md.
type jsonColumn struct {
	Name, Kind, Unit, Merging string
}

type jsonMeta struct {
	Name       string
	Seq        int64
	Begin, End int64
	Loss       map[string]uint64
	Omitted    int
}

type jsonTable struct {
	jsonMeta
	Columns []jsonColumn
	Rows    []map[string]any
}

type jsonHistogram struct {
	jsonMeta
	Keys []jsonColumn
	Unit string
	Rows []struct {
		Key     map[string]any
		Count   uint64
		Buckets [][3]*int64
	}
}

type jsonStacks struct {
	jsonMeta
	Keys       []jsonColumn
	Value      string
	TotalCount uint64 `json:"total_count"`
	TotalValue int64  `json:"total_value"`
	Stacks     []struct {
		Key   map[string]any
		Count uint64
		Value int64
		Stack []jsonFrame
	}
}

type jsonFrame struct {
	Symbol, DSO    string
	Kernel, Inline bool
}

type jsonEvent struct {
	Name         string
	Time         int64
	Comm         string
	Event, Label string
	Stack        []jsonFrame
}

// Add adds a record. Lines that are no records, such as output of a command to the same file, are
// skipped.
func (r *Records) Add(line []byte) error {
	if !bytes.HasPrefix(line, []byte(`{"v":`)) {
		return nil
	}
	var x record
	if err := json.Unmarshal(line, &x); err != nil {
		return err
	}
	read := func(into any) error {
		d := json.NewDecoder(bytes.NewReader(x.Data))
		d.UseNumber()
		return d.Decode(into)
	}
	switch x.Type {
	case "table":
		var t jsonTable
		if err := read(&t); err != nil {
			return err
		}
		r.table(&t)
	case "histogram":
		var h jsonHistogram
		if err := read(&h); err != nil {
			return err
		}
		r.histogram(&h)
	case "stacks":
		var s jsonStacks
		if err := read(&s); err != nil {
			return err
		}
		r.stacks(&s)
	case "event":
		var e jsonEvent
		if err := read(&e); err != nil {
			return err
		}
		r.event(&e)
	case "loss":
		var counts map[string]json.RawMessage
		if err := read(&counts); err != nil {
			return err
		}
		for name, n := range counts {
			var count uint64
			if json.Unmarshal(n, &count) == nil {
				r.lose(name, count)
			}
		}
	}
	return nil
}

// incomplete are the kinds of loss that mean missing events.
var incomplete = []string{"lost", "dropped", "late", "truncated", "errors", "throttled"}

func (r *Records) lose(kind string, n uint64) {
	if slices.Contains(incomplete, kind) {
		r.c.Runs[r.run].Missing += n
	}
}

// part returns the number of the part for a result's interval.
func (r *Records) part(m *jsonMeta) int {
	p := r.parts[m.Seq]
	if p == nil {
		p = &interval{begin: m.Begin, end: m.End}
		p.part = r.c.Part(r.run, Part{Source: r.source, At: int64(len(r.c.Runs[r.run].Parts))})
		r.parts[m.Seq] = p
		r.order = append(r.order, m.Seq)
	}
	p.begin, p.end = min(p.begin, m.Begin), max(p.end, m.End)
	for kind, n := range m.Loss {
		r.lose(kind, n)
	}
	if m.Omitted > 0 {
		r.c.Cut(m.Name, r.run, p.part)
	}
	return p.part
}

// rowName joins the keys of a row, by name if they have one.
func rowName(keys []jsonColumn, row map[string]any) string {
	var parts []string
	for _, k := range keys {
		if text, ok := row[k.Name+"_text"].(string); ok {
			parts = append(parts, text)
		} else if v := row[k.Name]; v != nil {
			parts = append(parts, fmt.Sprint(v))
		} else {
			parts = append(parts, "-")
		}
	}
	return strings.Join(parts, " ")
}

func (r *Records) table(t *jsonTable) {
	part := r.part(&t.jsonMeta)
	var keys, values []jsonColumn
	for _, c := range t.Columns {
		if c.Kind == "key" {
			keys = append(keys, c)
		} else {
			values = append(values, c)
		}
	}
	for _, row := range t.Rows {
		name := rowName(keys, row)
		for _, c := range values {
			n, ok := row[c.Name].(json.Number)
			if !ok {
				continue
			}
			v, err := n.Float64()
			if err != nil {
				continue
			}
			like := Cell{Result: t.Name, Row: name, Column: c.Name, Unit: c.Unit, How: Level}
			like.Extreme = c.Merging == "least" || c.Merging == "greatest"
			if c.Merging == "added" {
				like.How, like.Counts = Rate, c.Unit == ""
			}
			r.c.Cell(&like).Add(r.run, part, v)
		}
	}
}

// histogram adds the count and the mean of each key; the mean is only as exact as the
// buckets.
func (r *Records) histogram(h *jsonHistogram) {
	part := r.part(&h.jsonMeta)
	for i := range h.Rows {
		row := &h.Rows[i]
		sum := 0.0
		for _, b := range row.Buckets {
			lo, hi, n := b[0], b[1], b[2]
			switch {
			case n == nil:
			case lo == nil && hi != nil:
				sum += float64(*hi) * float64(*n)
			case hi == nil && lo != nil:
				sum += float64(*lo) * float64(*n)
			case lo != nil:
				sum += (float64(*lo) + float64(*hi) - 1) / 2 * float64(*n)
			}
		}
		r.c.distribution(h.Name, rowName(h.Keys, row.Key), h.Unit, r.run, part, float64(row.Count), sum)
	}
}

// distribution adds the cells of a row of a histogram.
func (c *Comparison) distribution(name, row, of string, run, part int, n, sum float64) {
	like := Cell{Result: name, Row: row, Column: "count", Counts: true}
	c.Cell(&like).Add(run, part, n)
	if n > 0 {
		like = Cell{Result: name, Row: row, Column: "mean", Unit: of, How: Level}
		c.Cell(&like).Add(run, part, sum/n)
	}
}

func frames(list []jsonFrame) []*result.Frame {
	out := make([]*result.Frame, len(list))
	for i, f := range list {
		out[i] = &result.Frame{Symbol: f.Symbol, DSO: f.DSO, Kernel: f.Kernel, Inline: f.Inline}
	}
	return out
}

func (r *Records) stacks(s *jsonStacks) {
	part := r.part(&s.jsonMeta)
	all := float64(s.TotalCount)
	if s.Value != "" {
		all = float64(s.TotalValue)
	}
	r.c.AddAll(s.Name, r.run, part, all)
	var keys []result.Column
	for _, k := range s.Keys {
		keys = append(keys, result.Column{Name: k.Name, Kind: result.KeyColumn})
	}
	for i := range s.Stacks {
		own := &s.Stacks[i]
		weight := float64(own.Count)
		if s.Value != "" {
			weight = float64(own.Value)
		}
		x := result.StackSample{CallStack: result.StackOf(frames(own.Stack)...), Count: own.Count,
			Value: own.Value, PID: -1}
		for _, k := range s.Keys {
			x.Key = append(x.Key, event.StrOf(rowName([]jsonColumn{k}, own.Key)))
		}
		r.c.stack(s.Name, r.run, part, x, weight, s.Value == "")
		r.c.picture(s.Name, r.run, s.Value, keys, x)
	}
}

func (r *Records) event(e *jsonEvent) {
	label := e.Label
	if label == "" {
		label = e.Event
	}
	x := eventLine{time: e.Time, result: e.Name, label: label}
	if e.Stack != nil {
		x.sample = result.StackSample{Key: []event.Value{event.StrOf(e.Comm)},
			CallStack: result.StackOf(frames(e.Stack)...), Count: 1, PID: -1}
	}
	r.events = append(r.events, x)
}

// eventParts is the number of parts in which lines of events are counted.
const eventParts = 20

// End computes the lengths of all intervals after the last record.
func (r *Records) End() error {
	parts := r.c.Runs[r.run].Parts
	slices.Sort(r.order)
	for i, seq := range r.order {
		p := r.parts[seq]
		end := p.end
		if i+1 < len(r.order) && r.order[i+1] == seq+1 {
			end = r.parts[r.order[i+1]].begin
		}
		if length := int64(r.Interval); i+1 == len(r.order) && seq > 0 && end-p.begin > length*7/10 {
			end = max(end, p.begin+length) // the interval ends after its last event
		}
		parts[p.part].Seconds = max(float64(end-p.begin), 1) / unit.S.Scale
	}
	if len(r.order) > 0 {
		return nil
	}
	if len(r.events) == 0 {
		return errNothing
	}
	r.count()
	return nil
}

// count counts lines of events in parts of equal length.
func (r *Records) count() {
	first, last := r.events[0].time, r.events[0].time
	for i := range r.events {
		first, last = min(first, r.events[i].time), max(last, r.events[i].time)
	}
	length := (last-first)/eventParts + 1
	begun := len(r.c.Runs[r.run].Parts)
	for i := range eventParts {
		r.c.Part(r.run, Part{Source: r.source, At: int64(begun + i), Seconds: float64(length) / unit.S.Scale})
	}
	comm := []result.Column{{Name: "comm", Kind: result.KeyColumn}}
	for i := range r.events {
		e := &r.events[i]
		part := begun + int((e.time-first)/length)
		if e.sample.Count == 0 {
			like := Cell{Result: e.result, Row: e.label, Column: "events", Counts: true}
			r.c.Cell(&like).Add(r.run, part, 1)
			continue
		}
		r.c.AddAll(e.result, r.run, part, 1)
		r.c.stack(e.result, r.run, part, e.sample, 1, true)
		r.c.picture(e.result, r.run, "", comm, e.sample)
	}
	r.events = nil
}
