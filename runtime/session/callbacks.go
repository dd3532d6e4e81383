package session

import (
	"context"

	"ppscript/runtime/plan"
)

// callbacks is the delivery of operators that call the session when an event
// comes.
type callbacks struct{ undelivered }

func (callbacks) begin(_ context.Context, r *run, op plan.Running) error {
	switch op := op.(type) {
	case *plan.SlowRun:
		op.Emit = r.results.detail
	case *plan.TriggerRun:
		op.Fire = r.trigger
	case *plan.ExecRun:
		op.Out = textOut{r}
	case *plan.EachRun:
		op.Stop = func(err error) { r.results.failed = err }
	}
	return nil
}

// An answer is the delivery of a text that needs no events.
type answer struct {
	undelivered
	text string
}

func (a answer) begin(_ context.Context, r *run, _ plan.Running) error {
	return r.results.out.Print([]byte(a.text + "\n"))
}

// textOut takes what exec attributes print.
type textOut struct{ r *run }

func (t textOut) Write(b []byte) (int, error) {
	if t.r.results.failed == nil {
		t.r.results.failed = t.r.results.out.Print(b)
	}
	return len(b), nil
}
