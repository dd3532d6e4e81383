package session

import (
	"ppscript/runtime/event"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
)

// detail shows a pair with what happened around it.
func (r *run) detail(d *result.Detail) {
	if r.failed == nil {
		r.failed = r.out.Detail(d)
	}
}

// trigger ends the interval because of an event, and shows the event.
func (r *run) trigger(e *event.Event) {
	if r.failed == nil {
		r.failed = r.tick(false)
	}
	if r.failed == nil {
		r.failed = r.out.Event(&render.Line{Event: e, Result: "trigger"})
	}
}
