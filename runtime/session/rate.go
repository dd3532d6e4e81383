package session

import (
	"fmt"
	"time"

	"ppscript/runtime/perf"
)

// rateTime is how long events are counted before a rate is judged: a burst
// that is over in less costs less than what ending the run would lose.
const rateTime = time.Second

// A rate ends a run whose events come too fast from one CPU or thread: their
// cost is paid by what runs there. Rings are looked at, since filters of the
// kernel and programs there cost less than a record.
type rate struct {
	limit  uint64 // a second, of each ring
	at     time.Time
	before []perf.RingStats
}

func newRate(limit uint64, now time.Time) *rate {
	return &rate{limit: limit, at: now}
}

// due is when the rates are to be judged; never without a limit.
func (r *rate) due() time.Time {
	if r.limit == 0 {
		return time.Time{}
	}
	return r.at.Add(rateTime)
}

// exceeded says which ring sends more than the limit; "" is none. Rings that
// come later are judged from then on.
func (r *rate) exceeded(rings []perf.RingStats, now time.Time) string {
	elapsed := now.Sub(r.at)
	if r.limit == 0 || elapsed < rateTime {
		return ""
	}
	before := r.before
	r.before, r.at = rings, now
	for i, ring := range rings {
		if i >= len(before) {
			before = append(before, perf.RingStats{})
		}
		n := ring.Records - before[i].Records
		if perSecond := float64(n) / elapsed.Seconds(); perSecond > float64(r.limit) {
			return fmt.Sprintf("sampling-limit: %s sent %d events in %s, %.0f a second, more than %d: the run ends",
				ringName(ring), n, elapsed.Round(time.Millisecond), perSecond, r.limit)
		}
	}
	return ""
}

// ringName says whose events a ring has.
func ringName(r perf.RingStats) string {
	if r.CPU < 0 {
		return fmt.Sprintf("thread %d", r.TID)
	}
	return fmt.Sprintf("CPU %d", r.CPU)
}
