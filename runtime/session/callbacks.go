package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
)

// callbacks is the delivery of operators that call the session when an event
// comes.
type callbacks struct {
	undelivered
	to   *results
	fire func(e *event.Event) // of triggers
}

func (c callbacks) begin(_ context.Context, op plan.Running) error {
	switch op := op.(type) {
	case *plan.SlowRun:
		op.Emit = c.to.detail
	case *plan.TriggerRun:
		op.Fire = c.fire
	case *plan.ExecRun:
		op.Out = &textOut{to: c.to}
	case *plan.EachRun:
		op.Stop = func(err error) { c.to.failed = err }
	}
	return nil
}

// An answer is the delivery of a text that needs no events.
type answer struct {
	undelivered
	to   *results
	text string
}

func (a answer) begin(_ context.Context, _ plan.Running) error {
	return a.to.out.Show(result.TextOf(a.text + "\n"))
}

// textOut takes what exec attributes print.
type textOut struct {
	to   *results
	text result.Text // of the call
}

func (t *textOut) Write(b []byte) (int, error) {
	if t.to.failed == nil {
		t.text.Bytes = b
		t.to.failed = t.to.out.Show(&t.text)
	}
	return len(b), nil
}
