package session

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/session/cost"
)

// An account is what a run has counted, and what of it was told.
type account struct {
	tickNo    int
	lastEvent event.Time // of the last interval
	until     event.Time // the end of the interval that is being shown; 0 if that is now
	told      told       // at the last tick
	total     event.Loss
	own       *cost.Own // of live runs
	costs     result.Costs
}

// told is how far sources and operators had counted when that was told last.
type told struct {
	samples, lost, throttled uint64
	late, corrupt, failed    uint64
	read                     event.Loss // of recordings and streams from elsewhere
}

// interval returns what was lost since the last call.
func (a *account) interval(r *run) event.Loss {
	router := r.instance.Router
	loss := event.Loss{Lost: router.LostN - a.told.lost, Throttled: router.Throttle - a.told.throttled}
	a.told.lost, a.told.throttled = router.LostN, router.Throttle
	if r.in.feeder != nil {
		late := r.in.feeder.Stats().Late
		loss.Late, a.told.late = late-a.told.late, late
	}
	loss.Lost += r.in.skipped.Lost()
	loss.Add(r.in.slots.Loss(r.instance))
	read := r.env.rec.loss()
	loss.Truncated += read.Truncated - a.told.read.Truncated
	loss.EndedEarly += read.EndedEarly - a.told.read.EndedEarly
	a.told.read = read
	if r.in.live != nil {
		corrupt := r.in.live.Stats().Corrupt
		loss.Truncated, a.told.corrupt = loss.Truncated+corrupt-a.told.corrupt, corrupt
	}
	failed := r.instance.Failures().Failed()
	loss.Errors, a.told.failed = loss.Errors+failed-a.told.failed, failed
	loss.Add(r.stacks.loss())
	a.total.Add(loss)
	return loss
}
