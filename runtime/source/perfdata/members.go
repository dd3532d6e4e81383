package perfdata

import (
	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// members decodes the rare members of the samples of a. perf record leaves a fixed period
// out of the samples, and every reader is to take it from the attr.
func (a *attr) members(l *perf.Layout) event.Members {
	if a.Sample_type&unix.PERF_SAMPLE_PERIOD == 0 && a.Bits&unix.PerfBitFreq == 0 {
		return &perf.FixedPeriod{Layout: l, Period: a.Sample}
	}
	return l
}
