package plan

import (
	"slices"
	"testing"

	"ppscript/runtime/event"
)

// TestHideSelf checks that pairs know their key as soon as it decides whether they are shown.
func TestHideSelf(t *testing.T) {
	for _, key := range []string{"id", "_tid"} {
		var shown []event.Time
		j := &Join{Stages: []Stream{src("start"), src("end")}, Key: text(key)}
		p := build(t, Env{}, &Log{In: j})
		Runs[*LogRun](p)[0].Emit = func(e *event.Event) { shown = append(shown, e.Time) }
		p.HideSelf(42, func(_ *event.Event, tid int32) bool { return tid == 43 })
		feedAs(p, 1, 42, 43, "start")
		feedAs(p, 2, 42, 43, "end")
		feedAs(p, 3, 42, 7, "start") // as if 7 were no thread of it
		feedAs(p, 4, 42, 7, "end")
		feedAs(p, 5, 9, 9, "start")
		feedAs(p, 6, 9, 9, "end")
		want := []event.Time{6}
		if key == "_tid" {
			want = []event.Time{4, 6}
		}
		if !slices.Equal(shown, want) {
			t.Errorf("key %s: got %v, want %v", key, shown, want)
		}
	}
}

func feedAs(p *Instance, at event.Time, pid, tid int32, name string) {
	for _, e := range p.Events {
		if e.Stream.Schema.Name == name {
			p.Router.Events([]*event.Event{
				{Time: at, Stream: e.Stream, Raw: make([]byte, 12), PID: pid, TID: tid},
			})
		}
	}
}
