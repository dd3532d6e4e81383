package join

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/result"
)

// The tests write events as "TIME NAME key", with more as name=value: cpu, tid
// and ring of the sample, and v of the record. Names are single letters; the
// same letter is the same stream. "LOST from until ring" is a loss.

// testSchema is a record of two numbers.
func testSchema(name string) *event.Schema {
	return &event.Schema{System: "t", Name: name, Type: 2, Size: 16, Fields: []event.Field{
		{Name: "k", Type: "long", Size: 8, Signed: true}, {Name: "v", Type: "long", Offset: 8, Size: 8, Signed: true}}}
}

// A bench is a join over streams named by letters, with its output.
type testJoin struct {
	t        *testing.T
	streams  map[string]*event.Stream
	order    []*event.Stream
	spec     Spec
	join     *Join
	nested   *Nested
	pairs    []string
	details  []string
	ends     map[int32]event.Time
	unpaired []string
	sink     func(evs []*event.Event)
}

func (j *testJoin) compile(src, stream string) *expr.Program {
	j.t.Helper()
	p, err := cexpr.Compile(src, &expr.Scope{Schema: j.streams[stream].Schema})
	if err != nil {
		j.t.Fatal(err)
	}
	return p
}

// newJoin makes streams for the stages: "A,B C" is two stages, a letter with
// a dash is untraced. The key is k.
func newJoin(t *testing.T, stages string) *testJoin {
	t.Helper()
	j := &testJoin{t: t, streams: map[string]*event.Stream{}, ends: map[int32]event.Time{}}
	var names [][]string
	for s, stage := range strings.Fields(stages) {
		names = append(names, nil)
		for _, n := range strings.Split(stage, ",") {
			name := strings.TrimPrefix(n, "-")
			st := &event.Stream{Index: len(j.order), Schema: testSchema(name), Label: name}
			j.order = append(j.order, st)
			j.streams[name] = st
			in := In{Stage: s, Key: j.compile("k", name)}
			if in.Untraced = n != name; in.Untraced {
				in.Stage = -1
			} else {
				names[s] = append(names[s], name)
			}
			j.spec.In = append(j.spec.In, in)
		}
	}
	for range j.order {
		j.spec.Pairs = append(j.spec.Pairs, make([]*event.Stream, len(j.order)))
	}
	for s := range names {
		for _, a := range names[s] {
			for _, b := range names[(s+1)%len(names)] {
				j.pairOf(a, b)
			}
		}
	}
	j.spec.KeepRaw = -1
	j.spec.LossEnd = func(ring int32) event.Time { return j.ends[ring] }
	return j
}

func (j *testJoin) pairOf(a, b string) {
	st := &event.Stream{Index: 1000, Schema: &event.Schema{Name: a + "=>" + b}, Label: a + "=>" + b}
	j.spec.Pairs[j.streams[a].Index][j.streams[b].Index] = st
}

func (j *testJoin) in(name string) *In { return &j.spec.In[j.streams[name].Index] }

// collectLeft has unpaired events noted.
func (j *testJoin) collectLeft(waiting bool) {
	for _, st := range j.order {
		j.spec.Streams = append(j.spec.Streams, &event.Stream{
			Index: 2000, Schema: &event.Schema{Name: st.Label}, Label: st.Label,
		})
	}
	j.spec.WithWaiting = waiting
	j.spec.To = sinkFunc(func(evs []*event.Event) {
		for _, e := range evs {
			j.unpaired = append(j.unpaired, fmt.Sprintf("%s@%d %s age=%d", e.Stream.Label,
				e.Derived.Start.Time,
				e.Derived.Slots[SlotReason], e.Derived.Slots[SlotAge].Int()))
		}
	})
}

type sinkFunc func(evs []*event.Event)

func (f sinkFunc) Events(evs []*event.Event)      { f(evs) }
func (f sinkFunc) Lost(int32, uint64, event.Time) {}

func (j *testJoin) note(evs []*event.Event) {
	for _, e := range evs {
		j.pairs = append(j.pairs,
			fmt.Sprintf("%s %d+%d", e.Stream.Label, e.Derived.Start.Time,
				e.Derived.End.Time-e.Derived.Start.Time))
	}
	if j.sink != nil {
		j.sink(evs)
	}
}

// run feeds events, each slice a batch of its own.
func (j *testJoin) run(batches ...string) {
	j.t.Helper()
	if j.join == nil {
		j.join = New(j.spec, sinkFunc(j.note))
	}
	for _, b := range batches {
		j.feed(j.join, b)
	}
}

// A feedSink is a Join or a Nested.
type feedSink interface {
	Events([]*event.Event)
	Lost(int32, uint64, event.Time)
}

func (j *testJoin) feed(to feedSink, text string) {
	j.t.Helper()
	var batch []*event.Event
	for _, l := range strings.Split(text, ";") {
		f := strings.Fields(l)
		if len(f) == 0 {
			continue
		}
		if f[0] == "LOST" {
			to.Events(batch)
			batch = nil
			ring := int32(number(j.t, f[3]))
			j.ends[ring] = event.Time(number(j.t, f[2]))
			to.Lost(ring, 1, event.Time(number(j.t, f[1])))
			continue
		}
		batch = append(batch, j.event(f))
	}
	to.Events(batch)
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (j *testJoin) event(f []string) *event.Event {
	j.t.Helper()
	st := j.streams[f[1]]
	if st == nil {
		j.t.Fatalf("no stream %s", f[1])
	}
	raw := make([]byte, 16)
	e := &event.Event{Time: event.Time(number(j.t, f[0])), Stream: st, Raw: raw, TID: 1, PID: 1}
	for _, a := range f[2:] {
		name, v, ok := strings.Cut(a, "=")
		if !ok {
			name, v = "k", a
		}
		n := number(j.t, v)
		switch name {
		case "k":
			binary.LittleEndian.PutUint64(raw, uint64(n))
		case "v":
			binary.LittleEndian.PutUint64(raw[8:], uint64(n))
		case "cpu":
			e.CPU = int32(n)
		case "tid":
			e.TID, e.PID = int32(n), int32(n)
		case "ring":
			e.Ring = int32(n)
		default:
			j.t.Fatalf("no fact %s", name)
		}
	}
	return e
}

func (j *testJoin) want(pairs ...string) {
	j.t.Helper()
	if got, want := strings.Join(j.pairs, ", "), strings.Join(pairs, ", "); got != want {
		j.t.Errorf("pairs: got %q, want %q", got, want)
	}
}

func (j *testJoin) wantLeft(left ...string) {
	j.t.Helper()
	if got, want := strings.Join(j.unpaired, ", "), strings.Join(left, ", "); got != want {
		j.t.Errorf("unpaired: got %q, want %q", got, want)
	}
}

// showSlow notes the details of pairs as text.
func (j *testJoin) showSlow(s Slow) {
	if s.Select != nil {
		if j.spec.Timeline == nil {
			j.spec.Timeline = &Timeline{}
		}
		s.Timeline = j.spec.Timeline
		for i := range j.spec.In {
			s.Select.Keys = append(s.Select.Keys, j.spec.In[i].Key)
		}
	}
	s.Emit = func(d *result.Detail) { j.details = append(j.details, detailText(d)) }
	slow := NewSlow(s)
	j.sink = slow.Events
}

func detailText(d *result.Detail) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", d.Start.Time)
	if d.End != nil {
		fmt.Fprintf(&b, "-%d", d.End.Time)
	} else {
		fmt.Fprintf(&b, ">=%d %s", d.DelayNS(), d.Reason)
	}
	part := result.Previous
	b.WriteString(" [")
	for _, l := range d.Lines {
		for ; part < l.Part; part++ {
			b.WriteString(" |")
		}
		switch {
		case l.Event == nil:
			fmt.Fprintf(&b, " %dhidden", l.Hidden)
			continue
		default:
			fmt.Fprintf(&b, " %s@%d", l.Event.Stream.Label, l.Event.Time)
		}
		if l.State != "" {
			b.WriteString(":" + l.State)
		}
		if l.Ran {
			fmt.Fprintf(&b, ":ran%d", l.RanNS)
		}
	}
	for ; part < result.After; part++ {
		b.WriteString(" |")
	}
	b.WriteString(" ]")
	return b.String()
}
