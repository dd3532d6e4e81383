package flow

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Once counts events as samples of the run, each once, and ends them at a limit.
type Once struct {
	Limit  uint64 // 0 is no limit
	Router *Router

	n      uint64
	last   *event.Event
	when   event.Time
	passes int64
}

// Pass counts an event and returns 1, or 0 beyond the limit. An event that several
// operators get, one after the other, counts once.
func (r *Once) Pass(f *expr.Frame, _ []expr.Arg) int64 {
	if f.Event == r.last && f.Event.Time == r.when {
		return r.passes
	}
	r.last, r.when, r.passes = f.Event, f.Event.Time, 0
	if r.n++; r.Limit > 0 && r.n > r.Limit || r.Router.LimitReached() {
		return 0
	}
	r.Router.Samples++
	r.passes = 1
	return 1
}
