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
