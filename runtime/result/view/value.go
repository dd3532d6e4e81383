package view

import (
	"fmt"
	"io"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// A Result shows the value of an expression for every event. Package session
// sets Out before the first event.
type Result struct {
	Out   io.Writer
	Fn    *flow.Fn
	Errs  flow.Errors
	frame expr.Frame
}

// Show shows the value for an event.
func (r *Result) Show(e *event.Event) {
	r.frame.Reset(e)
	r.frame.Out = r.Out
	v := r.Fn.For(e).Value(&r.frame)
	if r.frame.Err != nil {
		fmt.Fprintf(r.Out, "result: %v\n", r.frame.Err)
		r.Errs.Note(&r.frame)
		return
	}
	fmt.Fprintf(r.Out, "result: %s\n", valueText(v))
}

// valueText returns the text of a value: integers in decimal and hex, strings
// in quotes.
func valueText(v event.Value) string {
	switch v.Kind {
	case event.IntValue, event.UintValue:
		return fmt.Sprintf("%s (0x%x)", v, v.Uint())
	case event.StrValue:
		return fmt.Sprintf("%q", v.String())
	}
	return v.String()
}
