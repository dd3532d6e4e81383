package cost

import (
	"fmt"
	"time"

	"ppscript/runtime/source/perf"
)

// rateTime is the time for which events are counted before a rate is checked. A
// shorter burst costs less than ending the run.
const rateTime = time.Second

// A Rate ends a run if too many events a second come from one CPU or thread,
// since the programs there bear the cost.
type Rate struct {
	limit  uint64 // a second, of each sender
	at     time.Time
	before []Sender
}

// A Sender is a CPU or thread, with the number of its events so far.
type Sender struct {
	Name string
	N    uint64
}

// NewRate returns a Rate that begins at now. limit is in events a second; 0: no
// limit.
func NewRate(limit uint64, now time.Time) *Rate {
	return &Rate{limit: limit, at: now}
}

// Due returns the time of the next check; zero without a limit.
func (r *Rate) Due() time.Time {
	if r.limit == 0 {
		return time.Time{}
	}
	return r.at.Add(rateTime)
}

// Exceeded names a sender above the limit; "" if there is none. New senders are
// checked from their first call on.
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

// RingSenders returns the rings as senders. Events that filters reject do not
// count: they cost less than a record.
func RingSenders(rings []perf.RingStats) []Sender {
	var list []Sender
	for _, ring := range rings {
		list = append(list, Sender{RingName(ring), ring.Records})
	}
	return list
}

// RingName names the CPU or thread of a ring.
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
