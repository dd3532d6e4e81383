package frontend

import (
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
)

// TestTextsOfAnEvent checks that texts that a function makes for an event are bounded, however it
// runs.
func TestTextsOfAnEvent(t *testing.T) {
	h := script.NewHost(script.HostOptions{})
	m, err := h.LoadSource("x.star",
		"def f(e):\n    s = 'x'\n    for i in range(40):\n        s = s + s\n    return s != ''")
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFunc(h, m.Globals["f"].(*starlark.Function))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Call(&event.Event{}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("interpreted: got %v, want that the text is too large", err)
	}
	low, err := f.Lower(&expr.Scope{Schema: &event.Schema{}}, expr.Bool)
	if err != nil {
		t.Fatal(err)
	}
	var frame expr.Frame
	frame.Reset(&event.Event{})
	expr.Build(low).Int(&frame)
	if !errors.Is(frame.Err, expr.ErrTexts) {
		t.Errorf("natively: got %v, want %v", frame.Err, expr.ErrTexts)
	}
}
