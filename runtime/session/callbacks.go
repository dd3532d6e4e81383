package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
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
		op.Out = textOut{c.to}
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
	return a.to.out.Print([]byte(a.text + "\n"))
}

// textOut takes what exec attributes print.
type textOut struct{ to *results }

func (t textOut) Write(b []byte) (int, error) {
	if t.to.failed == nil {
		t.to.failed = t.to.out.Print(b)
	}
	return len(b), nil
}
