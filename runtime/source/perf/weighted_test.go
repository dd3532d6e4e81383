package perf

import (
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// TestWeightedTracepointsSampleTheirPeriod guards against thousands of records
// for one hit: see weighted.
func TestWeightedTracepointsSampleTheirPeriod(t *testing.T) {
	for name, want := range map[string]bool{
		"sched_stat_runtime": true, "sched_stat_wait": true, "sched_switch": false,
	} {
		c := Config{Members: []event.Member{}}
		a := c.sampling(&EventConfig{Schema: &event.Schema{
			System: "sched", Name: name, Type: unix.PERF_TYPE_TRACEPOINT,
		}}, false, true)
		if got := a.Sample_type&unix.PERF_SAMPLE_PERIOD != 0; got != want {
			t.Errorf("%s: got period sampled %v, want %v", name, got, want)
		}
	}
}

// TestFixedPeriodsAreNotSampled guards against a record for each hit of an event with a fixed
// period above 1.
func TestFixedPeriodsAreNotSampled(t *testing.T) {
	f := func(typ uint32, id, period uint64, want bool) {
		t.Helper()
		c := Config{Members: []event.Member{event.MemberPeriod}}
		a := c.sampling(&EventConfig{Schema: &event.Schema{Type: typ, ID: id}, Period: period}, false, true)
		if got := a.Sample_type&unix.PERF_SAMPLE_PERIOD != 0; got != want || a.Sample != max(period, 1) {
			t.Errorf("type %d, period %d: got period sampled %v and %d, want %v",
				typ, period, got, a.Sample, want)
		}
	}
	f(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS, 7, false)
	f(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS, 0, true)
	f(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK, 1000000, true)
	f(unix.PERF_TYPE_TRACEPOINT, 1, 10, false)
	f(unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, 1000, true)
}
