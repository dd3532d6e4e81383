package plan

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/source/eventspec"
)

// A script among the sources that asks for threads itself is attached to all
// CPUs: the events beside it are then checked for their thread, those of a plan
// that asks itself are not.
func TestEventsBesideAProfilerAreOfTheTarget(t *testing.T) {
	traced := expr.Services{Traced: func(tid int32) bool { return tid == 7 }}
	states := &Profiler{
		In: []Stream{&Where{In: src("end"), Pred: *text("traced(id)")}}, As: &Source{Spec: eventspec.Spec{
			Name: "states",
		}},
	}
	for _, c := range []struct {
		name string
		hub  Stream
		want string
	}{
		{"hub", src("start"), "start 1 2; end 1 3"},
		{"hub that asks", &Where{In: src("start"), Pred: *text("traced(_tid) || n == 1")}, "start 2 3; end 1 3"},
	} {
		p := build(t, Env{Services: &traced}, counted(&Merge{In: []Stream{c.hub, states}}, "event"))
		for i, e := range []struct {
			stream  int
			tid     int32
			id, num byte
		}{{0, 8, 1, 1}, {0, 7, 1, 2}, {1, 8, 7, 3}, {1, 7, 8, 4}} {
			raw := make([]byte, p.Events[e.stream].Stream.Schema.Size)
			for _, f := range []struct {
				name string
				v    byte
			}{{"id", e.id}, {"n", e.num}} {
				field, _ := p.Events[e.stream].Stream.Schema.Field(f.name)
				raw[field.Offset] = f.v
			}
			p.Router.Events([]*event.Event{
				{Time: event.Time(i + 1), Stream: p.Events[e.stream].Stream, TID: e.tid, PID: e.tid, Raw: raw},
			})
		}
		if got := rows(t, p, 0); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		// The events that the script reads are not counted, events that it shows are.
		want := uint64(2)
		if c.name == "hub that asks" {
			want = 3
		}
		if p.Router.Samples != want {
			t.Errorf("%s: got %d samples, want %d", c.name, p.Router.Samples, want)
		}
	}
}
