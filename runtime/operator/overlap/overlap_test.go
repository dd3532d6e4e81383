package overlap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
)

// This file compares a Splitter behind two joins with the definition, which looks at each
// nanosecond of each span by itself.

// The streams of the tests: A and Z begin and end the spans that are split; B and Y, and C
// and X, those over them.
var (
	schema = &event.Schema{System: "t", Name: "t"}
	names  = []string{"A", "Z", "B", "Y", "C", "X", "a", "b", "c", "part"}
)

// A test is two kinds of spans over one that is split.
type fixture struct {
	streams []*event.Stream
	joins   [3]*join.Join
	specs   [3]join.Spec // of the joins, without the receivers of their pairs
	split   *Splitter
	ends    map[int32]event.Time
	parts   []string
	until   []event.Time // the ends of the spans of the parts
	sums    map[string]event.Time
	losses  int
}

func compile(t testing.TB, text string) *expr.Program {
	p, err := cexpr.Compile(text, &expr.Scope{Schema: schema,
		Parts: map[string]*event.Schema{"start": schema, "end": schema}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newFixture relates spans by thread; limit bounds the spans that are kept.
func newFixture(t testing.TB, limit int, by string) *fixture {
	x := &fixture{ends: map[int32]event.Time{}, sums: map[string]event.Time{}}
	for i, n := range names {
		x.streams = append(x.streams, &event.Stream{Index: i, Label: n, Schema: schema})
	}
	key := compile(t, by)
	each := make([]*expr.Program, len(names))
	for i := range each {
		each[i] = key
	}
	fn := flow.NewFn(each, -1)
	ended := func(ring int32) event.Time { return x.ends[ring] }
	spec := Spec{Integer: true, Limit: limit, LossEnd: ended, Slots: make([]int, len(names)),
		Out: make([]*event.Stream, len(names)), None: []event.Value{event.IntOf(-1)}}
	for i := range spec.Out {
		spec.Out[i] = x.streams[9]
	}
	for i := range 3 {
		s := Source{Ends: fn, Begins: fn, Spans: make([]*event.Stream, len(names)),
			Names: make([]event.Value, len(names)), Facts: make([][]*expr.Program, len(names)),
			Begun: func(id int32, e *event.Event) *event.Event { return x.joins[i].Begun(id, e) }}
		s.Spans[2*i] = x.streams[6+i]
		s.Names[6+i] = event.StrOf(names[6+i])
		s.Facts[6+i] = []*expr.Program{compile(t, "start.pid")}
		if i == 0 {
			spec.Split = append(spec.Split, s)
		} else {
			spec.Over = append(spec.Over, s)
		}
	}
	x.split = New(spec, x)
	for i := range 3 {
		js := join.Spec{KeepRaw: 0, LossEnd: ended}
		for range names {
			js.In = append(js.In, join.In{Stage: -1})
			js.Pairs = append(js.Pairs, make([]*event.Stream, len(names)))
		}
		js.In[2*i], js.In[2*i+1] = join.In{Stage: 0, Key: key}, join.In{Stage: 1, Key: key}
		js.Pairs[2*i][2*i+1] = x.streams[6+i]
		side := x.split.Split(0)
		if i > 0 {
			side = x.split.Over(i - 1)
		}
		x.specs[i] = js
		js.Opens = []flow.Opens{side}
		x.joins[i] = join.New(js, side)
	}
	return x
}

// Events takes the parts.
func (x *fixture) Events(evs []*event.Event) {
	for _, e := range evs {
		s := e.Derived.Slots
		length, begin := event.Time(s[slotDelay].Int()), event.Time(s[slotBegin].Int())
		name := s[slotName].String()
		if length <= 0 {
			panic("a part without a length")
		}
		x.parts = append(x.parts,
			fmt.Sprintf("%d[%d,%d] %s %d", e.TID, begin, begin+length, name, s[slotName+1].Int()))
		x.until = append(x.until, e.Time)
		x.sums[fmt.Sprintf("%d[%d,%d]", e.TID, e.Derived.Start.Time, e.Time)] += length
	}
}

// Lost counts losses.
func (x *fixture) Lost(int32, uint64, event.Time) { x.losses++ }

// A happening is an event, or a loss of all that happens in a time.
type happening struct {
	at, until event.Time
	stream    int
	tid, pid  int32
}

func (x *fixture) run(hs []happening) {
	for _, h := range hs {
		if h.until > 0 {
			x.ends[0] = h.until
			for _, j := range x.joins {
				j.Lost(0, 1, h.at)
			}
			continue
		}
		e := &event.Event{Time: h.at, Stream: x.streams[h.stream], TID: h.tid, PID: h.pid, CPU: 0}
		for _, j := range x.joins {
			j.Events([]*event.Event{e})
		}
	}
}

// A span of the reference.
type span struct {
	begin, end event.Time
	stream     int
	tid, pid   int32
}

// spansOf relates begins and ends as a join does: an end takes the newest begin.
func spansOf(hs []happening, kind int) (closed []span, open map[int32]span) {
	open = map[int32]span{}
	for _, h := range hs {
		switch h.stream {
		case 2 * kind:
			open[h.tid] = span{begin: h.at, stream: kind, tid: h.tid, pid: h.pid}
		case 2*kind + 1:
			if s, ok := open[h.tid]; ok {
				if s.end = h.at; s.end > s.begin {
					closed = append(closed, s)
				}
				delete(open, h.tid)
			}
		}
	}
	return closed, open
}

// reference is the parts of all spans, by looking at each time.
func reference(hs []happening) []string {
	var parts []string
	first := map[[2]int32]event.Time{} // kind and thread: when the first end without a begin was
	seen := map[[2]int32]bool{}
	for _, h := range hs {
		kind := int32(h.stream / 2)
		at := [2]int32{kind, h.tid}
		if kind > 0 && !seen[at] {
			seen[at] = true
			if h.stream%2 == 1 {
				first[at] = h.at
			}
		}
	}
	for i, h := range hs {
		if h.stream != 1 {
			continue
		}
		before := hs[:i+1]
		closed, _ := spansOf(before, 0)
		n := slices.IndexFunc(closed, func(s span) bool { return s.tid == h.tid && s.end == h.at })
		if n < 0 {
			continue
		}
		a := closed[n]
		var over []span
		for kind := 1; kind <= 2; kind++ {
			closed, open := spansOf(before, kind)
			for _, s := range open {
				s.end = a.end
				closed = append(closed, s)
			}
			for _, s := range closed {
				if s.tid == a.tid {
					over = append(over, s)
				}
			}
		}
		last, from := "", a.begin
		for t := a.begin; t < a.end; t++ {
			name, began := "rest -1", event.Time(-1)
			for kind := int32(1); kind <= 2; kind++ {
				if alone := first[[2]int32{kind, a.tid}]; t < alone && alone <= a.end {
					name = "unknown -1"
				}
			}
			for _, s := range over {
				if s.begin <= t && t < s.end && s.begin > began {
					name, began = fmt.Sprintf("%s %d", names[6+s.stream], s.pid), s.begin
				}
			}
			if name != last && last != "" {
				parts = append(parts, fmt.Sprintf("%d[%d,%d] %s", a.tid, from, t, last))
				from = t
			}
			last = name
		}
		parts = append(parts, fmt.Sprintf("%d[%d,%d] %s", a.tid, from, a.end, last))
	}
	return parts
}

func random(r *rand.Rand, n, threads int) []happening {
	var hs []happening
	at := event.Time(10)
	for i := range n {
		at += 1 + event.Time(r.IntN(4))
		hs = append(hs, happening{at: at, stream: r.IntN(6), tid: int32(1 + r.IntN(threads)), pid: int32(i)})
	}
	return hs
}

func TestPartsAreThoseOfEachMoment(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		hs := random(r, 5+r.IntN(60), 1+r.IntN(3))
		x := newFixture(t, 0, "_tid")
		x.run(hs)
		if want := reference(hs); !slices.Equal(x.parts, want) {
			t.Fatalf("seed %d: %v\ngot  %q\nwant %q", seed, hs, x.parts, want)
		}
	}
}

// Whatever is lost, and however few spans are kept, parts sum to their span, and what they
// say is true or unknown.
func TestPartsSumAndAreTrueOrUnknown(t *testing.T) {
	unknowns := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		all := random(r, 20+r.IntN(60), 1+r.IntN(3))
		var seen []happening
		last := event.Time(0)
		for i := 0; i < len(all); i++ {
			if r.IntN(12) > 0 || i+4 >= len(all) {
				seen = append(seen, all[i])
				last = all[i].at
				continue
			}
			i += r.IntN(4)
			seen = append(seen, happening{at: last, until: all[i].at + 1})
		}
		limit := 0
		if seed%2 == 1 {
			limit = 1 + r.IntN(6)
		}
		x := newFixture(t, limit, "_tid")
		x.run(seen)
		for s, sum := range x.sums {
			var tid int
			var from, to event.Time
			fmt.Sscanf(s, "%d[%d,%d]", &tid, &from, &to)
			if sum != to-from {
				t.Fatalf("seed %d: the parts of %s sum to %d", seed, s, sum)
			}
		}
		for i, p := range x.parts {
			if strings.Contains(p, Unknown) {
				unknowns++
				continue
			}
			if !trueOf(p, all, x.until[i]) {
				t.Fatalf("seed %d: %s is not true\nall  %v\nseen %v\nparts %q", seed, p, all, seen, x.parts)
			}
		}
	}
	if unknowns < 100 {
		t.Errorf("got %d unknown parts: nothing is tried", unknowns)
	}
}

// trueOf reports that a part is what the whole truth says of each of its moments, up to the
// end of its span. What began before the first event is not known of.
func trueOf(part string, all []happening, end event.Time) bool {
	all = slices.DeleteFunc(slices.Clone(all), func(h happening) bool { return h.at > end })
	var tid, pid int
	var from, to event.Time
	var name string
	fmt.Sscanf(part, "%d[%d,%d] %s %d", &tid, &from, &to, &name, &pid)
	var over []span
	for kind := 1; kind <= 2; kind++ {
		closed, open := spansOf(all, kind)
		for _, s := range open {
			s.end = event.MaxTime
			closed = append(closed, s)
		}
		over = append(over, closed...)
	}
	for at := from; at < to; at++ {
		want, began := Rest, event.Time(-1)
		for _, s := range over {
			if s.tid == int32(tid) && s.begin <= at && at < s.end && s.begin > began {
				want, began = names[6+s.stream], s.begin
			}
		}
		if want != name {
			return false
		}
	}
	return true
}
