package fold

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

func must(n expr.Node, err error) expr.Node {
	if err != nil {
		panic(err)
	}
	return n
}

var schema = &event.Schema{System: "test", Name: "tick"}

func member(name string) expr.Node {
	f, _ := schema.Field(name)
	return expr.NewField(f, expr.Self)
}

func load(slot int) expr.Node { return must(expr.NewLoadState(slot, expr.TInt)) }
func store(slot int, x expr.Node) expr.Node {
	return must(expr.NewStoreState(slot, x))
}
func op(o string, x, y expr.Node) expr.Node { return must(expr.PyBinary(o, x, y)) }

// three is a step function with three members: how often, since when, and how
// long in all; it emits the last where emits says so.
func three(emits bool) expr.Node {
	list := []expr.Node{
		store(0, op("+", load(0), expr.NewInt(1))),
		must(expr.NewIf(load(1), store(2, op("+", load(2), op("-", member("time"), load(1)))), nil)),
		store(1, member("time")),
	}
	if emits {
		list = append(list, must(expr.NewEmit(0, []string{"n", "total"}, load(0), load(2))))
	}
	return expr.NewBlock(list...)
}

var outStream = &event.Stream{Index: 1, Schema: &event.Schema{Name: "out", Fields: []event.Field{
	{Name: "n", Kind: event.Int, Place: event.InSlot, Offset: 0, Size: 8, Signed: true},
	{Name: "total", Kind: event.Int, Place: event.InSlot, Offset: 1, Size: 8, Signed: true, Unit: event.Nanos},
}}}

// sink keeps the events that it gets, as text.
type sink struct {
	lines []string
	lost  int
	n     int
}

func (s *sink) Events(evs []*event.Event) {
	s.n += len(evs)
	for _, e := range evs {
		if s.lines != nil {
			s.lines = append(s.lines,
				fmt.Sprintf("%d tid %d %v %v", e.Time, e.TID, e.Derived.Slots[0],
					e.Derived.Slots[1].Kind == event.DurationValue))
		}
	}
}
func (s *sink) Lost(int32, uint64, event.Time) { s.lost++ }

func newFold(key expr.Node, step expr.Node, next flow.Sink, change func(s *Spec)) *Fold {
	s := Spec{
		Key:  flow.NewFn([]*expr.Program{expr.Build(key)}, 0),
		Step: flow.NewFn([]*expr.Program{expr.Build(step)}, 0),
		Init: make([]int64, 3),
		Out:  outStream,
	}
	if change != nil {
		change(&s)
	}
	return New(s, next)
}

// ticks are n events of threads below keys, in random order, one a microsecond.
func ticks(n, keys int) []*event.Event {
	st := &event.Stream{Schema: schema}
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]event.Event, n)
	ptrs := make([]*event.Event, n)
	for i := range all {
		tid := int32(r.IntN(keys))
		all[i] = event.Event{
			Time: event.Time(1000 * (i + 1)), Stream: st, TID: tid, CPU: tid % 4, Ring: tid % 4,
		}
		ptrs[i] = &all[i]
	}
	return ptrs
}

// TestAgainstMap runs the step function and its copy in Go.
func TestAgainstMap(t *testing.T) {
	type state struct{ n, since, total int64 }
	want := map[int32]*state{}
	tuple := must(expr.NewTuple(member("tid"), member("cpu")))
	for _, key := range []expr.Node{member("tid"), tuple} {
		clear(want)
		f := newFold(key, three(false), &sink{}, nil)
		evs := ticks(20000, 300)
		for len(evs) > 0 {
			n := min(len(evs), 113)
			f.Events(evs[:n])
			for _, e := range evs[:n] {
				s := want[e.TID]
				if s == nil {
					s = &state{}
					want[e.TID] = s
				}
				s.n++
				if s.since != 0 {
					s.total += int64(e.Time) - s.since
				}
				s.since = int64(e.Time)
			}
			evs = evs[n:]
		}
		if f.Len() != len(want) || f.Stats() != (Stats{}) {
			t.Fatalf("got %d keys, %+v, want %d", f.Len(), f.Stats(), len(want))
		}
		for r := range int32(f.size()) {
			k := f.keyOf(r)
			if k.Kind == event.ListValue {
				k = k.List()[0]
			}
			s := want[int32(k.Int())]
			got := f.state.rows[int(r)*f.state.stride+rowHead:][:3]
			if got[0] != s.n || got[1] != s.since || got[2] != s.total {
				t.Errorf("key %v: got %v, want %+v", k, got, *s)
			}
		}
	}
}

func TestEmit(t *testing.T) {
	out := &sink{lines: []string{}}
	f := newFold(member("tid"), three(true), out, nil)
	f.Events(ticks(3, 1))
	want := "[1000 tid 0 1 true 2000 tid 0 2 true 3000 tid 0 3 true]"
	if got := fmt.Sprint(out.lines); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if f.Stats().Emitted != 3 {
		t.Errorf("got %d emitted, want 3", f.Stats().Emitted)
	}
}

// TestEmitManyAtOnce checks that every event of one step function may emit several; they are handed
// on in order and not all at the end of a large batch.
func TestEmitManyAtOnce(t *testing.T) {
	out := &sink{lines: []string{}}
	f := newFold(member("tid"), three(true), out, nil)
	f.Events(ticks(3*batch, 1))
	for i, l := range out.lines {
		if want := fmt.Sprintf("%d tid 0 %d true", 1000*(i+1), i+1); l != want {
			t.Fatalf("event %d: got %s, want %s", i, l, want)
		}
	}
	if out.n != 3*batch {
		t.Errorf("got %d, want %d", out.n, 3*batch)
	}
}

// The stack of the event at hand is the last slot; streams without stacks have none.
func TestEmittedHasTheStackOfItsEvent(t *testing.T) {
	var got []uint64
	keep := keeper(func(e *event.Event) { got = append(got, uint64(e.TID), e.Derived.Slots[2].Uint()) })
	f := newFold(member("tid"), three(true), keep, func(s *Spec) {
		st := *outStream
		st.Schema = &event.Schema{
			Name: "out",
			Fields: append(slices.Clone(outStream.Schema.Fields), event.Field{
				Name: event.StackName, Place: event.InSlot, Offset: 2,
			}),
		}
		s.Out = &st
		s.Stacks = []func(e *event.Event) uint64{
			nil, func(e *event.Event) uint64 { return 40 + uint64(e.TID) },
		}
	})
	evs := ticks(2, 1)
	evs[1].Stream, evs[1].TID = &event.Stream{Index: 1, Schema: schema}, 7
	f.Events(evs)
	if want := []uint64{0, 0, 7, 47}; !slices.Equal(got, want) {
		t.Errorf("got tids with stacks %v, want %v", got, want)
	}
}

// The key is one more slot, also of events that a flush emits.
func TestEmittedHasItsSubject(t *testing.T) {
	var got []int64
	keep := keeper(func(e *event.Event) { got = append(got, e.Derived.Slots[len(e.Derived.Slots)-1].Int()) })
	f := newFold(member("tid"), three(true), keep, func(s *Spec) { s.Subject = true })
	evs := ticks(3, 1)
	evs[1].TID, evs[2].TID = 7, 8
	f.Events(evs)
	if want := []int64{int64(evs[0].TID), 7, 8}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A keeper calls a function for each event.
type keeper func(e *event.Event)

func (k keeper) Events(evs []*event.Event) {
	for _, e := range evs {
		k(e)
	}
}
func (k keeper) Lost(int32, uint64, event.Time) {}

func TestLimitEvictsWhatWasNotUsed(t *testing.T) {
	f := newFold(member("tid"), three(false), &sink{}, func(s *Spec) { s.Limit = 10 })
	evs := ticks(5000, 1)
	for i, e := range evs {
		e.TID = int32(i)
		if i%2 == 0 {
			e.TID = 3 // always in use
		}
	}
	f.Events(evs)
	at := f.keys.ints.Find(3)
	if at < 0 || f.state.rows[int(at)*f.state.stride+rowHead] != 2501 {
		t.Errorf("the key in use was evicted: row %d", at)
	}
	if l := f.Loss(); f.Len() != 10 || l.Evicted != 2499+1-10 {
		t.Errorf("got %d keys, %d evicted, want 10 and 2490", f.Len(), l.Evicted)
	}
	if l := f.Loss(); l != (event.Loss{}) {
		t.Errorf("got %+v the second time, want nothing", l)
	}
}

// TestKeysThatAreDoneAreForgotten checks that keys that are back in their initial state, as threads
// that ended, do not add up: there is room for twice the keys that are not.
func TestKeysThatAreDoneAreForgotten(t *testing.T) {
	// The state of a thread is its CPU: that of thread 0 to 99 stays, that of
	// the others is initial again.
	tid := member("tid")
	step := expr.NewBlock(store(0, op("//", expr.NewInt(99), op("+", tid, expr.NewInt(1)))))
	f := newFold(tid, step, &sink{}, nil)
	evs := ticks(200_000, 1)
	for i, e := range evs {
		e.TID = int32(i)
	}
	f.Events(evs)
	if f.size() > 2*leastSwept || f.Len() > 2*leastSwept {
		t.Errorf("got %d rows, %d keys, want at most %d", f.size(), f.Len(), 2*leastSwept)
	}
	for tid := range int64(99) {
		if r := f.keys.ints.Find(tid); r < 0 || f.state.rows[int(r)*f.state.stride+rowHead] == 0 {
			t.Fatalf("thread %d: its state is gone", tid)
		}
	}
	if f.Stats().Evicted != 0 {
		t.Errorf("got %d evicted, want none", f.Stats().Evicted)
	}
}

func TestLossDropsState(t *testing.T) {
	out := &sink{}
	f := newFold(member("tid"), three(false), out, func(s *Spec) { s.ByRing = true })
	f.Events(ticks(100, 8))
	f.Lost(1, 5, 200_000)
	if l := f.Loss(); l.Broken != 2 || f.Len() != 6 || out.lost != 1 {
		t.Errorf("by ring: got %d broken, %d keys, %d told, want 2, 6, 1", l.Broken, f.Len(), out.lost)
	}
	f = newFold(member("tid"), three(false), out, nil)
	f.Events(ticks(100, 8))
	f.Lost(1, 5, 200_000)
	if l := f.Loss(); l.Broken != 8 || f.Len() != 0 {
		t.Errorf("got %d broken, %d keys, want 8, 0", l.Broken, f.Len())
	}
	// The next event of a key begins anew.
	f.Events(ticks(1, 1))
	if got := f.state.rows[int(f.keys.ints.Find(0))*f.state.stride+rowHead]; got != 1 {
		t.Errorf("got %d events of the key, want 1", got)
	}
}

func TestErrorsAreCounted(t *testing.T) {
	step := expr.NewBlock(store(0, op("//", expr.NewInt(1), member("tid"))), store(1, expr.NewInt(7)))
	f := newFold(member("tid"), step, &sink{}, nil)
	evs := ticks(2, 1)
	evs[1].TID = 1
	f.Events(evs)
	if l := f.Loss(); l.Errors != 1 || f.Errors().First == nil {
		t.Errorf("got %d errors, %v, want 1", l.Errors, f.Errors().First)
	}
	for tid, want := range []int64{0, 7} {
		if got := f.state.rows[int(f.keys.ints.Find(int64(tid)))*f.state.stride+rowHead+1]; got != want {
			t.Errorf("key %d: got %d, want %d: nothing is assigned after an error", tid, got, want)
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for name, change := range map[string]func(s *Spec){
		"integer": nil,
		"text": func(s *Spec) {
			s.Texts = []string{""}
			s.Step = flow.NewFn(
				[]*expr.Program{expr.Build(
					expr.NewBlock(three(true), must(expr.NewStoreState(0, expr.NewStr("name")))))}, 0)
		},
		"evicting": func(s *Spec) { s.Limit = 100 },
		"tuple": func(s *Spec) {
			thread := must(expr.NewTuple(member("tid"), member("cpu")))
			s.Key = flow.NewFn([]*expr.Program{expr.Build(thread)}, 0)
		},
	} {
		f := newFold(member("tid"), three(true), &sink{}, change)
		evs := ticks(2000, 300)
		f.Events(evs)
		if n := testing.AllocsPerRun(20, func() { f.Events(evs) }); n != 0 {
			t.Errorf("%s: got %v allocations for 2000 events, want 0", name, n)
		}
	}
}

// BenchmarkStep shows ns for each event, key look-up included. The events are
// few, as in a ring that is read behind the kernel; their keys are random.
func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct {
		keys  int
		emits bool
	}{{100, false}, {100, true}, {10_000, false}, {1_000_000, false}} {
		name := fmt.Sprintf("fields=3/keys=%d", bench.keys)
		if bench.emits {
			name += "/emit"
		}
		b.Run(name, func(b *testing.B) {
			f := newFold(member("tid"), three(bench.emits), &sink{}, nil)
			const chunk = 512
			evs := ticks(chunk, 1)
			r := rand.New(rand.NewPCG(1, 2))
			tids := make([]int32, max(1<<16, 2*bench.keys)&^(chunk-1))
			for i := range tids {
				tids[i] = int32(r.IntN(bench.keys))
			}
			at := 0
			run := func(n int) {
				for ; n > 0; n -= chunk {
					for i, tid := range tids[at : at+chunk] {
						evs[i].TID = tid
					}
					f.Events(evs[:min(n, chunk)])
					at = (at + chunk) % len(tids)
				}
			}
			run(len(tids))
			b.ReportAllocs()
			b.ResetTimer()
			run(b.N)
			b.StopTimer()
			if f.Loss().Errors != 0 {
				b.Fatal("errors")
			}
		})
	}
}

// partsSink notes between which events each emitted one lies.
type partsSink struct{ lines []string }

func (s *partsSink) Events(evs []*event.Event) {
	for _, e := range evs {
		start, end := "-", "-"
		if p := e.Derived.Start; p != nil {
			start = fmt.Sprintf("%d %s", p.Time, p.Raw)
		}
		if p := e.Derived.End; p != nil {
			end = fmt.Sprintf("%d %s", p.Time, p.Raw)
		}
		s.lines = append(s.lines, start+" to "+end)
	}
}
func (*partsSink) Lost(int32, uint64, event.Time) {}

// An emitted event has the event that began the state, also when the memory
// of both was used again since, and many are emitted at once.
func TestBeginOfStates(t *testing.T) {
	var out partsSink
	f := newFold(member("tid"), three(true), &out, func(s *Spec) { s.Begin = 2 })
	in := &event.Stream{Schema: schema}
	var want []string
	last := map[int32]string{}
	memory := make([]event.Event, 700) // of all batches
	n := 0
	feed := func(count int) {
		var evs []*event.Event
		for i := range count {
			n++
			tid := int32(n % 3)
			raw := fmt.Sprintf("event %d", n)
			memory[i] = event.Event{Time: event.Time(10 * n), TID: tid, Stream: in, Raw: []byte(raw)}
			evs = append(evs, &memory[i])
			now := fmt.Sprintf("%d %s", 10*n, raw)
			if begin, ok := last[tid]; ok {
				want = append(want, begin+" to "+now)
			} else {
				want = append(want, "- to -")
			}
			last[tid] = now
		}
		f.Events(evs)
		for i := range memory {
			copy(memory[i].Raw, "#############")
		}
	}
	feed(2)
	feed(600) // more than a batch
	feed(1)
	f.Lost(0, 1, event.Time(10*n))
	clear(last) // nothing is known across a loss
	feed(5)
	if !slices.Equal(out.lines, want) {
		for i := range min(len(out.lines), len(want)) {
			if out.lines[i] != want[i] {
				t.Fatalf("emitted %d: got %s, want %s", i, out.lines[i], want[i])
			}
		}
		t.Fatalf("got %d, want %d", len(out.lines), len(want))
	}
}
