package join

import (
	"encoding/binary"
	"fmt"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/result"
)

// stream of system calls as the kernel records them: a 64-byte sample with its
// record inside.
func benchEvents(n int, keys int64) (*testJoinSpec, []*event.Event) {
	schema := testSchema("x")
	js := &testJoinSpec{}
	for i := range 2 {
		js.streams = append(js.streams, &event.Stream{Index: i, Schema: schema})
	}
	var evs []*event.Event
	for i := range n {
		rec := make([]byte, 104)
		e := &event.Event{
			Time:   event.Time(100 * (i + 1)),
			Stream: js.streams[i%2],
			Rec:    rec,
			Raw:    rec[32:96],
			TID:    1,
			PID:    1,
		}
		binary.LittleEndian.PutUint64(e.Raw, uint64(int64(i/2)*7919%keys))
		evs = append(evs, e)
	}
	return js, evs
}

type testJoinSpec struct{ streams []*event.Stream }

func (s *testJoinSpec) spec(tb testing.TB, raw int) Spec {
	pair := &event.Stream{Index: 2, Schema: &event.Schema{Name: "pair"}, Label: "pair"}
	key, err := cexpr.Compile("k", &expr.Scope{Schema: s.streams[0].Schema})
	if err != nil {
		tb.Fatal(err)
	}
	return Spec{In: []In{{Stage: 0, Key: key}, {Stage: 1, Key: key}}, KeepRaw: raw,
		Pairs: [][]*event.Stream{{nil, pair}, {nil, nil}}}
}

type countSink struct{ n int }

func (c *countSink) Events(evs []*event.Event)      { c.n += len(evs) }
func (c *countSink) Lost(int32, uint64, event.Time) {}

func feedAll(s flow.Sink, evs []*event.Event) {
	for len(evs) > 0 {
		n := min(256, len(evs))
		s.Events(evs[:n])
		evs = evs[n:]
	}
}

// later moves all events, so that feeding them again continues the stream.
func later(evs []*event.Event) {
	d := evs[len(evs)-1].Time - evs[0].Time + 100
	for _, e := range evs {
		e.Time += d
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, keys := range []int64{1, 100, 5000} {
		for _, raw := range []int{-1, 0, 16} {
			s, evs := benchEvents(20000, keys)
			sink := &countSink{}
			j := New(s.spec(t, raw), sink)
			feedAll(j, evs)
			if n := testing.AllocsPerRun(5, func() { later(evs); feedAll(j, evs) }); n != 0 {
				t.Errorf("%d keys, raw %d: got %v allocations, want 0", keys, raw, n)
			}
			if sink.n != 7*10000 {
				t.Errorf("%d keys: got %d pairs, want %d", keys, sink.n, 7*10000)
			}
		}
	}
}

func TestDetailKeptReadyDoesNotAllocate(t *testing.T) {
	s, evs := benchEvents(20000, 100)
	spec := s.spec(t, -1)
	spec.Timeline = &Timeline{}
	slow := NewSlow(Slow{
		Than:     1 << 40,
		Lower:    -1,
		Select:   &Select{Before: 50000},
		Timeline: spec.Timeline,
		Emit:     func(*result.Detail) {},
	})
	j := New(spec, slow)
	feedAll(j, evs)
	if n := testing.AllocsPerRun(5, func() { later(evs); feedAll(j, evs) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkJoin(b *testing.B) {
	for _, c := range []struct {
		keys int64
		raw  int
	}{{1, 16}, {100, 16}, {100, -1}, {10000, 16}} {
		b.Run(fmt.Sprintf("keys=%d/raw=%d", c.keys, c.raw), func(b *testing.B) {
			s, evs := benchEvents(20000, c.keys)
			j := New(s.spec(b, c.raw), &countSink{})
			perEvent(b, j, evs)
		})
	}
	for _, order := range []struct {
		name string
		ends int // multiplier of the keys of the ends
	}{{"open=1000000", 7919}, {"open=1000000/shuffled", 104729}} {
		b.Run(order.name, func(b *testing.B) {
			// The events are few and used again, as the events of a ring are; a
			// million keys are open. Their ends come in the order of their
			// starts, or in any.
			s, evs := benchEvents(256, 1)
			j := New(s.spec(b, 16), &countSink{})
			at, n := event.Time(0), 0
			pass := func(stream, factor int) {
				for k := 0; k < 1<<20; k += len(evs) {
					for i, e := range evs {
						at++
						e.Time, e.Stream = at, s.streams[stream]
						binary.LittleEndian.PutUint64(e.Raw, uint64((k+i)*factor&(1<<20-1)))
					}
					j.Events(evs)
					n += len(evs)
				}
			}
			pass(0, 7919)
			n = 0
			for b.Loop() {
				pass(1, order.ends)
				pass(0, 7919)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
	b.Run("detail", func(b *testing.B) {
		s, evs := benchEvents(20000, 100)
		spec := s.spec(b, -1)
		spec.Timeline = &Timeline{}
		perEvent(b,
			New(spec,
				NewSlow(Slow{Than: 1 << 40, Lower: -1, Select: &Select{}, Timeline: spec.Timeline})), evs)
	})
	b.Run("nested", func(b *testing.B) {
		s, evs := benchEvents(20000, 100)
		spec := s.spec(b, 16)
		spec.In[1].Stage, spec.In[1].Return = 0, true
		perEvent(b, NewNested(spec, NewTree([]string{"x"}), &countSink{}), evs)
	})
}

func perEvent(b *testing.B, s flow.Sink, evs []*event.Event) {
	feedAll(s, evs)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		later(evs)
		feedAll(s, evs)
		n += len(evs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
}
