package findings

import (
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/limits"
)

// doctor tells the limits of scripts, where they are from, and why none holds.
func TestDoctorTellsLimits(t *testing.T) {
	f := func(p limits.Policy, err error, status kernel.Status, want ...string) {
		t.Helper()
		c := scriptLimits(p, err)
		for _, w := range want {
			if c.Status != status || !strings.Contains(c.Detail, w) {
				t.Errorf("got %+v, want %v and %q", c, status, w)
			}
		}
	}
	f(limits.Policy{}.Whole(), nil, kernel.OK, "steps 1000000000,", "memory 256MiB,", "time 5m0s,",
		"depth 1000,", "by default")
	f(limits.Policy{Steps: 5000, Path: "/x/limits"}.Whole(), nil, kernel.OK, "steps 5000,", "by /x/limits")
	f(limits.Policy{}, errors.New("others may write to it"), kernel.Warn, "others may write to it",
		"no script runs")
}
