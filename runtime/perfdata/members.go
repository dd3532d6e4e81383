package perfdata

import (
	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/perf"
)

// fixedPeriod is the Members of an event that was opened with a fixed period:
// perf record leaves it out of the samples, and every reader is to take it
// from the attr.
type fixedPeriod struct {
	*perf.Layout
	period uint64
}

// Member implements event.Members.
func (m *fixedPeriod) Member(e *event.Event, f event.Member) (uint64, bool) {
	if f == event.MemberPeriod && e.Kind == event.Sample {
		return m.period, true
	}
	return m.Layout.Member(e, f)
}

// members decodes the rare members of the samples of a.
func (a *attr) members(l *perf.Layout) event.Members {
	if a.Sample_type&unix.PERF_SAMPLE_PERIOD == 0 && a.Bits&unix.PerfBitFreq == 0 {
		return &fixedPeriod{l, a.Sample}
	}
	return l
}
