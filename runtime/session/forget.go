package session

import (
	"math"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/stack"
)

// This file finds stacks that are no longer needed, so that package naming can
// free them.
//
// A count by stack over the whole run, such as a flame graph, holds the numbers
// of all its stacks. When there are many, the counts are symbolized: stacks are
// replaced by their function names, and stacks with equal names, of any
// processes, are merged. The result at the end would be the same. At most
// naming.MostSymbolized symbolized stacks are kept.

// A stackHolder is a delivery that counts by numbers of stacks.
type stackHolder interface {
	// letGo symbolizes the counts so far, so that their stacks can be freed.
	letGo(w *runStacks)
}

// tick ends an interval for the stack table.
func (w *runStacks) tick(r *run, final bool) {
	if final {
		w.sayNone(r)
	} else {
		w.forget(r)
	}
	w.refresh()
}

// sayNone tells the user that stacks were wanted and none came.
func (w *runStacks) sayNone(r *run) {
	wanted := plan.Has[*plan.StacksOp](r.plan) || plan.Has[*plan.LogOp](r.plan) ||
		plan.Has[*plan.SlowOp](r.plan)
	if w == nil || !wanted || !hasOwnStacks(r.plan) || !w.Stackless() {
		return
	}
	text := "none of the events has a call stack"
	if r.env.rec.file != nil {
		text += ": record with perf record -g"
	}
	r.env.msgs.sayOnce(text)
}

// hasOwnStacks reports that events of the kernel or the recording should have
// stacks. For pulled events, a message was shown at the start.
func hasOwnStacks(p *plan.Plan) bool {
	return slices.ContainsFunc(localEvents(p), func(e *plan.Event) bool {
		return e.Stack != nil && !e.Stack.IfAny
	})
}

// forget frees unused stacks if there are many.
func (w *runStacks) forget(r *run) {
	if w == nil || !w.Crowded() || plan.Has[*plan.DatabaseOp](r.plan) || joinsHold(r.instance) {
		return
	}
	for _, d := range r.results.deliveries {
		if c, ok := d.(stackHolder); ok {
			c.letGo(w)
		}
	}
	held := map[stack.ID]bool{}
	for _, f := range plan.Runs[*plan.FoldRun](r.instance) {
		if !f.Holds || f.Fold == nil {
			continue
		}
		// It is not known which numbers of a state are numbers of stacks;
		// another small number may keep a stack without need.
		f.Fold.Numbers(func(v int64) {
			if v > 0 && v <= math.MaxUint32 {
				held[stack.ID(v)] = true
			}
		})
	}
	r.env.msgs.verbose(1, w.Forget(held))
	if r.instance.HoldsStacks() {
		r.instance.Programs.StacksGone() // programs still hold them
	}
}

// forgetBetween is forget within an interval, when no table may have
// stacks in its rows.
func (w *runStacks) forgetBetween(r *run) {
	if !plan.Has[*plan.TableOp](r.plan) {
		w.forget(r)
	}
}

// joinsHold reports that events that wait in a join may have numbers of stacks.
// Derived events do; other events have the stack in their record.
func joinsHold(in *plan.Instance) bool {
	held := func(s []*event.Field) bool { return len(s) > 0 }

	return plan.Has[*plan.JoinOp](in.Plan) && slices.ContainsFunc(shownStacks(in.Streams(), false), held)
}
