package session

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/session/cost"
)

// An account has a run's counts, and the part of them that was reported.
type account struct {
	tickNo    int
	lastEvent event.Time     // of the last interval
	until     event.Time     // end of the interval that is being shown; 0 is the present
	reported  reportedCounts // at the last tick
	total     event.Loss
	own       *cost.Own // of live runs
	costs     result.Costs
}

// reportedCounts holds the counts of sources and operators at the last report.
type reportedCounts struct {
	samples, lost, throttled uint64
	late, corrupt, failed    uint64
	read                     event.Loss // of recordings and streams from elsewhere
}

// interval returns the loss since the last call.
func (a *account) interval(r *run) event.Loss {
	router := r.instance.Router
	loss := event.Loss{Lost: router.LostN - a.reported.lost,
		Throttled: router.Throttle - a.reported.throttled}
	a.reported.lost, a.reported.throttled = router.LostN, router.Throttle
	if r.in.feeder != nil {
		late := r.in.feeder.Stats().Late
		loss.Late, a.reported.late = late-a.reported.late, late
	}
	loss.Lost += r.in.skipped.Lost()
	loss.Add(r.in.slots.Loss(r.instance))
	read := r.env.rec.loss()
	loss.Truncated += read.Truncated - a.reported.read.Truncated
	loss.EndedEarly += read.EndedEarly - a.reported.read.EndedEarly
	a.reported.read = read
	if r.in.live != nil {
		corrupt := r.in.live.Stats().Corrupt
		loss.Truncated, a.reported.corrupt = loss.Truncated+corrupt-a.reported.corrupt, corrupt
	}
	failed := r.instance.Failures().Failed()
	loss.Errors, a.reported.failed = loss.Errors+failed-a.reported.failed, failed
	loss.Add(r.stacks.loss())
	a.total.Add(loss)
	return loss
}
