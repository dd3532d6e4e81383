package kernel

import "testing"

func TestSysctl(t *testing.T) {
	if got, err := Sysctl(Roots{}, "kernel.ostype"); err != nil || got != "Linux" {
		t.Errorf("got %q, %v, want Linux", got, err)
	}
	for _, bad := range []string{"", "kernel", "kernel.no_such", "..cpuinfo", "kernel/../ostype/"} {
		if got, err := Sysctl(Roots{}, bad); err == nil {
			t.Errorf("%q: got %q, want an error", bad, got)
		}
	}
}
