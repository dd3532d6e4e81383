package cost

import (
	"fmt"
	"time"

	"ppscript/runtime/source/perf"
)

// rateTime is how long events are counted before a rate is judged: a burst
// that is over sooner costs less than ending the run.
const rateTime = time.Second

// A Rate ends a run whose events come too fast from one CPU or thread: the
// programs that run there pay their cost.
type Rate struct {
	limit  uint64 // a second, of each sender
	at     time.Time
	before []Sender
}

// A Sender is a CPU or thread, and how many events it has sent so far.
type Sender struct {
	Name string
	N    uint64
}

// NewRate begins at now; limit is how many events a second, 0 any number.
func NewRate(limit uint64, now time.Time) *Rate {
	return &Rate{limit: limit, at: now}
}

// Due is when the rates are to be judged; never without a limit.
func (r *Rate) Due() time.Time {
	if r.limit == 0 {
		return time.Time{}
	}
	return r.at.Add(rateTime)
}

// Exceeded says which sender sends more than the limit; "" is none. Senders that
// come later are judged from then on.
func (r *Rate) Exceeded(senders []Sender, now time.Time) string {
	elapsed := now.Sub(r.at)
	before := r.before
	r.before, r.at = senders, now
	for i, s := range senders {
		if i >= len(before) {
			before = append(before, Sender{})
		}
		n := s.N - before[i].N
		if perSecond := float64(n) / elapsed.Seconds(); perSecond > float64(r.limit) {
			return fmt.Sprintf("sampling-limit: %s sent %d events in %s, %.0f a second, more than %d: the run ends",
				s.Name, n, elapsed.Round(time.Millisecond), perSecond, r.limit)
		}
	}
	return ""
}

// RingSenders are the rings: filters of the kernel and programs there cost less
// than a record.
func RingSenders(rings []perf.RingStats) []Sender {
	var list []Sender
	for _, ring := range rings {
		list = append(list, Sender{RingName(ring), ring.Records})
	}
	return list
}

// RingName says whose events a ring has.
func RingName(r perf.RingStats) string {
	if r.CPU < 0 {
		return InstanceName(true, r.TID)
	}
	return InstanceName(false, r.CPU)
}

// InstanceName names a thread or CPU.
func InstanceName(thread bool, id int) string {
	if thread {
		return fmt.Sprintf("thread %d", id)
	}
	return fmt.Sprintf("CPU %d", id)
}
