package session

import (
	"math"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/naming"
	"ppscript/runtime/plan"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// This file says which stacks nobody needs any more: naming lets go of them.
//
// What counts by stack over the whole run, as flame graphs do, holds the
// numbers of all stacks. So when they are many, what was counted is symbolized:
// stacks get their names, and those with equal names are one from then on,
// whichever processes had them. That is what would be shown at the end anyway.
// Of those, too, there are at most naming.MostSymbolized.

// forgetStacks gives up what nobody needs if there are many stacks.
func (r *run) forgetStacks() {
	w := r.stacks
	if w == nil || !w.Crowded() || plan.Has[*plan.DatabaseRun](r.plan) || r.joinsHold() {
		return
	}
	for _, s := range plan.Of[*plan.StacksRun](r.plan) {
		if evicted := w.symbolize(s, r.shownOf(s)); s.Spec.File {
			w.evicted += evicted // others show it with their result
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
	r.verbose(1, w.Forget(held))
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
func (r *run) shownOf(s *plan.StacksRun) naming.Shown {
	i := slices.IndexFunc(r.files, func(f *stackFile) bool { return f.run == s })
	switch {
	case i < 0 || r.files[i].format == render.PprofFormat:
		return naming.All
	case r.files[i].format == render.FoldedFormat:
		return naming.InText
	}
	return naming.InPictures
}

// symbolize names the stacks that s has counted. It returns the samples whose
// stacks there was no room for.
func (w *runStacks) symbolize(s *plan.StacksRun, show naming.Shown) (evicted uint64) {
	if s.Group.Len() == 0 {
		return 0
	}
	before := w.symbolized[s]
	if before == nil {
		before = naming.NewSymbolized()
		w.symbolized[s] = before
	}
	names := naming.NewNames(show)
	cut, unwound := w.counted(s, func(x *result.StackSample) { before.Add(names, x) })
	before.Cut += cut
	before.Unwound += unwound
	before.Loss.Add(s.Group.Loss())
	s.Group.Reset()
	return before.Bound(naming.MostSymbolized, weightOf(s))
}

// weightOf is what a stack counts for: its value if there is one.
func weightOf(s *plan.StacksRun) func(t *naming.Tally) int64 {
	if s.Value.Name != "" {
		return func(t *naming.Tally) int64 { return t.Value }
	}
	return func(t *naming.Tally) int64 { return int64(t.Count) }
}

// clearStacks begins to count anew.
func (w *runStacks) clearStacks(s *plan.StacksRun) {
	s.Group.Reset()
	delete(w.symbolized, s)
}

// stacksLoss is what is missing in what s counted.
func (w *runStacks) stacksLoss(s *plan.StacksRun) event.Loss {
	loss := s.Group.Loss()
	if before := w.symbolized[s]; before != nil {
		loss.Add(before.Loss)
	}
	return loss
}
