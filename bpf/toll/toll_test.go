package toll

import (
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// Tolls are those of a machine: no hook is free, and a record costs more than none.
func TestMeasure(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	start := time.Now()
	m := Measure()
	t.Logf("%+v in %v", m, time.Since(start))
	for name, d := range map[string]time.Duration{
		"tracepoint": m.Tracepoint, "raw": m.Raw, "probe": m.Probe,
	} {
		if d < 5*time.Nanosecond || d > 20*time.Microsecond {
			t.Errorf("%s: got %v, want some ns", name, d)
		}
	}
	if m.Clock <= 0 || m.Clock > 5*time.Microsecond {
		t.Errorf("clock: got %v", m.Clock)
	}
}
