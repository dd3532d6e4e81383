package perfdata

import (
	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// members returns the decoder of a's sample members. perf record does not write a fixed
// period to the samples; readers take it from the attr.
func (a *attr) members(l *perf.Layout) event.Members {
	if a.Sample_type&unix.PERF_SAMPLE_PERIOD == 0 && a.Bits&unix.PerfBitFreq == 0 {
		return &perf.FixedPeriod{Layout: l, Period: a.Sample}
	}
	return l
}
