package session

import (
	"math"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/stack"
)

// This file says which stacks nobody needs any more: naming lets go of them.
//
// What counts by stack over the whole run, as flame graphs do, holds the
// numbers of all stacks. So when they are many, what was counted is symbolized:
// stacks get their names, and those with equal names are one from then on,
// whichever processes had them. That is what would be shown at the end anyway.
// Of those, too, there are at most naming.MostSymbolized.

// A stackHolder is a delivery that counts by numbers of stacks.
type stackHolder interface {
	// letGo has it count by names what it counted until now.
	letGo(w *runStacks)
}

// tickStacks ends an interval of the stacks themselves.
func (r *run) tickStacks(final bool) {
	if final {
		r.sayNoStacks()
	} else {
		r.forgetStacks()
	}
	r.stacks.refresh()
}

// sayNoStacks says that stacks were wanted and none came.
func (r *run) sayNoStacks() {
	wanted := plan.Has[*plan.StacksOp](r.plan) || plan.Has[*plan.LogOp](r.plan) || plan.Has[*plan.SlowOp](r.plan)
	if r.stacks == nil || !wanted || !r.hasOwnStacks() || !r.stacks.Stackless() {
		return
	}
	text := "none of the events has a call stack"
	if r.env.rec.file != nil {
		text += ": record with perf record -g"
	}
	r.env.msgs.sayOnce(text)
}

// hasOwnStacks reports that events of the kernel, or of the recording, are to
// have stacks; of others it was said at their beginning if they have none.
func (r *run) hasOwnStacks() bool {
	return slices.ContainsFunc(localEvents(r.plan), func(e *plan.Event) bool { return e.Stack != nil })
}

// forgetStacks gives up what nobody needs if there are many stacks.
func (r *run) forgetStacks() {
	w := r.stacks
	if w == nil || !w.Crowded() || plan.Has[*plan.DatabaseOp](r.plan) || r.joinsHold() {
		return
	}
	for _, d := range r.results.deliveries {
		if c, ok := d.(stackHolder); ok {
			c.letGo(w)
		}
	}
	held := map[stack.ID]bool{}
	for _, f := range plan.Runs[*plan.FoldRun](r.instance) {
		if !f.Holds {
			continue
		}
		// Which numbers of a state are those of stacks is not known: what
		// else is as small holds a stack for nothing.
		f.Fold.Numbers(func(v int64) {
			if v > 0 && v <= math.MaxUint32 {
				held[stack.ID(v)] = true
			}
		})
	}
	r.env.msgs.verbose(1, w.Forget(held))
}

// forgetBetween is forgetStacks within an interval, when no table may have
// stacks in its rows.
func (r *run) forgetBetween() {
	if !plan.Has[*plan.TableOp](r.plan) {
		r.forgetStacks()
	}
}

// joinsHold reports that what waits in a join may hold numbers of stacks:
// events that were made here do. Others have their stack in the record.
func (r *run) joinsHold() bool {
	return plan.Has[*plan.JoinOp](r.plan) && slices.ContainsFunc(shownStacks(r.instance.Streams(), false), func(s []*event.Field) bool { return len(s) > 0 })
}
