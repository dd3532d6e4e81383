package session

import (
	"fmt"
	"math"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// This file lets go of the stacks that nobody needs any more, and with them of
// the processes that ended: each new process brings stacks and mappings of its
// own, and a run that lasts for days sees millions of them.
//
// What counts by stack over the whole run, as flame graphs do, holds the
// numbers of all stacks. So when they are many, what was counted is settled:
// stacks get their names, and those with equal names are one from then on,
// whichever processes had them. That is what would be shown at the end anyway.
// Of those, too, there are at most mostSettled.

// forgetStacks gives up what nobody needs if there are many stacks.
func (r *run) forgetStacks() {
	w := r.stacks
	if w == nil || !w.table.Crowded() && !w.named.crowded() || plan.Has[*plan.DatabaseRun](r.plan) || r.joinsHold() {
		return
	}
	for _, s := range plan.Of[*plan.StacksRun](r.plan) {
		if evicted := w.settle(s, r.shownOf(s)); s.Spec.File {
			w.settledOut += evicted // others show it with their result
		}
	}
	held := map[stack.ID]bool{}
	for _, f := range plan.Of[*plan.FoldRun](r.plan) {
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
	before := w.table.Len()
	w.forgot = true
	w.generation++
	retain := func() {
		w.table.Retain(held)
		w.named.retain(w.table, held)
	}
	if w.maps == nil {
		retain()
	} else {
		w.maps.Release(retain)
	}
	r.verbose(1, fmt.Sprintf("stacks: %d are let go, %d are held", before-w.table.Len(), w.table.Len()))
	// A process with the number of another has frames of its own.
	clear(w.frames)
	w.nameless = w.nameless[:0]
	w.symbols.Refresh()
}

// forgetBetween is forgetStacks within an interval, when no table may have
// stacks in its rows.
func (r *run) forgetBetween() {
	if !plan.Has[*plan.Table](r.plan) {
		r.forgetStacks()
	}
}

// joinsHold reports that what waits in a join may hold numbers of stacks:
// events that were made here do. Others have their stack in the record.
func (r *run) joinsHold() bool {
	return plan.Has[*plan.JoinRun](r.plan) && slices.ContainsFunc(shownStacks(r.plan.Streams(), false), func(s []*event.Field) bool { return len(s) > 0 })
}

// shownOf is what will be seen of the stacks that s counts: those of a file
// are shown nowhere else.
func (r *run) shownOf(s *plan.StacksRun) shown {
	i := slices.IndexFunc(r.files, func(f *stackFile) bool { return f.run == s })
	switch {
	case i < 0 || r.files[i].format == render.PprofFormat:
		return all
	case r.files[i].format == render.FoldedFormat:
		return inText
	}
	return inPictures
}

// settle names the stacks that s has counted. It returns the samples whose stacks
// there was no room for.
func (w *stackWorld) settle(s *plan.StacksRun, show shown) (evicted uint64) {
	if s.Group.Len() == 0 {
		return 0
	}
	before := w.settled[s]
	if before == nil {
		before = newSettled()
		w.settled[s] = before
	}
	n := newNames(show)
	cut, unwound := w.counted(s, func(x *result.StackSample) { before.add(n, x) })
	before.cut += cut
	before.unwound += unwound
	before.loss.Add(s.Group.Loss())
	s.Group.Reset()
	return before.bound(mostSettled, weightOf(s))
}

// weightOf is what a stack counts for: its value if there is one.
func weightOf(s *plan.StacksRun) func(t *tally) int64 {
	if s.Value.Name != "" {
		return func(t *tally) int64 { return t.value }
	}
	return func(t *tally) int64 { return int64(t.count) }
}

// clearStacks begins to count anew.
func (w *stackWorld) clearStacks(s *plan.StacksRun) {
	s.Group.Reset()
	delete(w.settled, s)
}

// stacksLoss is what is missing in what s counted.
func (w *stackWorld) stacksLoss(s *plan.StacksRun) event.Loss {
	loss := s.Group.Loss()
	if before := w.settled[s]; before != nil {
		loss.Add(before.loss)
	}
	return loss
}
