package view

import (
	"io"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// An Exec evaluates expressions that print, for each event. It is a flow.Sink.
type Exec struct {
	Out      io.Writer       // set before the first event
	Programs []*expr.Program // by stream; nil for streams without one
	Errs     flow.Errors
	frame    expr.Frame
}

// Events implements flow.Sink.
func (x *Exec) Events(evs []*event.Event) {
	x.frame.Out = x.Out
	for _, e := range evs {
		if e.Stream.Index >= len(x.Programs) || x.Programs[e.Stream.Index] == nil {
			continue
		}
		x.frame.Reset(e)
		if x.Programs[e.Stream.Index].Run(&x.frame); x.frame.Err != nil {
			x.Errs.Note(&x.frame)
		}
	}
}

// Lost implements flow.Sink: the session reports losses once for all sinks.
func (x *Exec) Lost(int32, uint64, event.Time) {}
