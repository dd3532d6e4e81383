package session

import (
	"fmt"
	"time"

	"ppscript/runtime/perf"
)

// rateTime is how long events are counted before a rate is judged: a burst
// that is over sooner costs less than ending the run.
const rateTime = time.Second

// A rate ends a run whose events come too fast from one CPU or thread: the
// programs that run there pay their cost.
type rate struct {
	limit  uint64 // a second, of each sender
	at     time.Time
	before []sender
}

// A sender is a CPU or thread, and how many events it has sent so far.
type sender struct {
	name string
	n    uint64
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

// exceeded says which sender sends more than the limit; "" is none. Senders that
// come later are judged from then on.
func (r *rate) exceeded(senders []sender, now time.Time) string {
	elapsed := now.Sub(r.at)
	before := r.before
	r.before, r.at = senders, now
	for i, s := range senders {
		if i >= len(before) {
			before = append(before, sender{})
		}
		n := s.n - before[i].n
		if perSecond := float64(n) / elapsed.Seconds(); perSecond > float64(r.limit) {
			return fmt.Sprintf("sampling-limit: %s sent %d events in %s, %.0f a second, more than %d: the run ends",
				s.name, n, elapsed.Round(time.Millisecond), perSecond, r.limit)
		}
	}
	return ""
}

// ringSenders are the rings: filters of the kernel and programs there cost less
// than a record.
func ringSenders(rings []perf.RingStats) []sender {
	var list []sender
	for _, ring := range rings {
		list = append(list, sender{ringName(ring), ring.Records})
	}
	return list
}

// ringName says whose events a ring has.
func ringName(r perf.RingStats) string {
	if r.CPU < 0 {
		return instanceName(true, r.TID)
	}
	return instanceName(false, r.CPU)
}

func instanceName(thread bool, id int) string {
	if thread {
		return fmt.Sprintf("thread %d", id)
	}
	return fmt.Sprintf("CPU %d", id)
}
