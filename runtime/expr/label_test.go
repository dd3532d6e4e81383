package expr

import (
	"testing"

	"ppscript/runtime/event"
)

// The event that begins a span is called as its stream.
func TestLabelOf(t *testing.T) {
	p := Build(LabelOf(Start))
	start := &event.Event{Stream: &event.Stream{Label: "begin"}}
	f := &Frame{Event: &event.Event{Derived: &event.Derived{Start: start}}}
	if got := string(p.Str(f)); got != "begin" || f.Err != nil {
		t.Errorf("got %q, %v, want begin", got, f.Err)
	}
}
