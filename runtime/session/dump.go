package session

import (
	"fmt"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/session/cost"
	"ppscript/runtime/text/unit"
)

// dumps shows the state of the run if it was requested. It is shown among the
// results, since users would read output on stderr as a failure.
func (r *run) dumps(now time.Time) {
	select {
	case <-r.cfg.Dump:
	default:
		if !r.statusAsked.Swap(false) {
			return
		}
	}
	for _, line := range r.state(now) {
		if err := r.cfg.State(line); err != nil && r.results.failed == nil {
			r.results.failed = err
		}
	}
}

// state describes attached events, counts of events, and the state of
// operators, in lines.
func (r *run) state(now time.Time) []string {
	self := cost.NewUsage()
	lines := []string{
		fmt.Sprintf("state: running for %s, %d samples, %.3f s of CPU time, at most %s of memory",
			now.Sub(r.started).Round(time.Millisecond), r.instance.Samples(),
			(self.User + self.Sys).Seconds(), unit.Size(self.MaxRSSKB<<10)),
	}
	add := func(format string, args ...any) { lines = append(lines, "state: "+fmt.Sprintf(format, args...)) }
	if r.in.kernel != nil {
		add("the work is done by programs in the kernel, which keep what is read at the next result")
		for _, line := range r.in.kernel.run.Describe() {
			add("%s", line)
		}
		return lines
	}
	if r.in.live != nil {
		for _, line := range r.in.live.Describe() {
			add("%s", line)
		}
		st := r.in.live.Stats()
		add("%s: %d descriptors, %d wakeups; members of samples: %s", st.Mode, st.Opened, st.Wakeups,
			event.MembersText(r.plan.SampleMembers))
		for _, ring := range st.Rings {
			add("ring of %s: %s, %d records (%s) read, at most %s waited, %d lost", cost.RingName(ring),
				unit.Size(int64(ring.SizeBytes)),
				ring.Records, unit.Size(int64(ring.Bytes)), unit.Size(int64(ring.PeakBytes)), ring.Lost)
		}
	}
	if r.in.feeder != nil {
		st := r.in.feeder.Stats()
		add("order: %d samples, %d late, %d times held up by a full ring", st.Events, st.Late, st.Held)
	}
	for _, run := range r.instance.Running {
		for _, line := range run.State() {
			add("%s", line)
		}
	}
	return lines
}
