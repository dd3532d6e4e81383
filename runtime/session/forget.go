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
// Of those, too, there are at most as many as a table of stacks has.

// settled is what was counted by stack before, since the last result.
type settled struct {
	samples      []result.StackSample
	cut, unwound uint64
	loss         event.Loss
}

// forgetStacks gives up what nobody needs if there are many stacks.
func (r *run) forgetStacks() {
	w := r.stacks
	if w == nil || !w.table.Crowded() || len(r.plan.Databases) > 0 || r.joinsHold() {
		return
	}
	for _, s := range r.plan.Stacks {
		w.settle(s, r.onlyNames(s))
	}
	held := map[stack.ID]bool{}
	for _, f := range r.plan.Folds {
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
	retain := func() { w.table.Retain(held) }
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
	if len(r.plan.Tables) == 0 {
		r.forgetStacks()
	}
}

// joinsHold reports that what waits in a join may hold numbers of stacks:
// events that were made here do. Others have their stack in the record.
func (r *run) joinsHold() bool {
	return len(r.plan.Joins) > 0 && slices.ContainsFunc(shownStacks(r.plan.Streams(), false), func(s []*event.Field) bool { return len(s) > 0 })
}

// onlyNames reports that what s counts goes to a file that shows names alone:
// all but pprof's.
func (r *run) onlyNames(s *plan.StacksRun) bool {
	return slices.ContainsFunc(r.files, func(f *stackFile) bool { return f.run == s && f.format != render.PprofFormat })
}

// settle names the stacks that s has counted.
func (w *stackWorld) settle(s *plan.StacksRun, onlyNames bool) {
	if s.Group.Len() == 0 {
		return
	}
	res := w.result(s, result.Meta{})
	if onlyNames {
		plain(res.Samples)
	}
	res.Merge()
	before := w.settled[s]
	if before == nil {
		before = &settled{}
		w.settled[s] = before
	}
	before.cut, before.unwound = res.Cut, res.Unwound
	before.loss.Add(s.Group.Loss())
	before.loss.Evicted += bound(res, stack.DefaultStacks)
	before.samples = own(res.Samples)
	s.Group.Reset()
}

// plain takes from frames what pictures and folded text do not show: where in a
// function the code was. A profile has many such places for each chain of
// functions.
func plain(samples []result.StackSample) {
	frames, same := map[*result.Frame]*result.Frame{}, map[result.Frame]*result.Frame{}
	for i := range samples {
		for k, f := range samples[i].Frames {
			one := frames[f]
			if one == nil {
				name := result.Frame{Symbol: f.Symbol, DSO: f.DSO, Inline: f.Inline, Kernel: f.Kernel}
				if one = same[name]; one == nil {
					one = &name
					same[name] = one
				}
				frames[f] = one
			}
			samples[i].Frames[k] = one
		}
	}
}

// bound keeps the most frequent stacks of a sorted result; the others are one
// without functions. It returns how many samples they had.
func bound(res *result.Stacks, most int) (evicted uint64) {
	if len(res.Samples) <= most {
		return 0
	}
	for i := most; i < len(res.Samples); i++ {
		x := &res.Samples[i]
		evicted += x.Count
		x.Frames = []*result.Frame{noRoom}
	}
	res.Merge()
	return evicted
}

// own makes samples independent of what they were made from, with one frame
// for each function: its address is that of one process.
func own(samples []result.StackSample) []result.StackSample {
	frames, same := map[*result.Frame]*result.Frame{}, map[result.Frame]*result.Frame{}
	out := make([]result.StackSample, len(samples))
	for i, x := range samples {
		x.Key = slices.Clone(x.Key)
		list := make([]*result.Frame, len(x.Frames))
		for k, f := range x.Frames {
			one, known := frames[f]
			if !known {
				plain := *f
				if f.Symbol != "" || f.DSO != "" {
					plain.Addr = 0
				}
				if one = same[plain]; one == nil {
					one = f
					same[plain] = f
				}
				frames[f] = one
			}
			list[k] = one
		}
		x.Frames = list
		out[i] = x
	}
	return out
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
