package plan

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result/view"
)

// A script's tables show a field as lines show it.
func TestSourcesShowWhatTablesShow(t *testing.T) {
	p := &Profiler{Texts: map[string]view.CellFunc{"state": func(v event.Value) (string, error) {
		return "S" + v.String(), nil
	}}}
	s := &event.Schema{Name: "states", Fields: []event.Field{
		{Name: "state", Place: event.InSlot, Size: 8, Signed: true},
		{Name: "lasted", Place: event.InSlot, Size: 8, Offset: 1, Signed: true, Unit: event.Nanos},
		{Name: Stack, Type: "u32", Place: event.InSlot, Size: 4, Offset: 2},
		{Name: "open", Place: event.InSlot, Size: 8, Offset: 3, Signed: true},
	}}
	p.name(s)
	e := &event.Event{Stream: &event.Stream{Schema: s}, Derived: &event.Derived{
		Slots: []event.Value{event.IntOf(3), event.IntOf(103_266), event.IntOf(9), event.IntOf(0)}}}
	if got := string(s.Text(nil, e)); got != "state=S3 lasted=103.266us open=0" {
		t.Errorf("got %q", got)
	}
}
