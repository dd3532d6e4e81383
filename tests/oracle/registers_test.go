package oracle

import (
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Faults have their registers below them on request, with stacks and without.
func TestRegistersOfFaultsAreAskedFor(t *testing.T) {
	live(t)
	f := func(name, options []string, want bool) {
		t.Helper()
		args := append(append([]string{testkit.PPScript(t)}, name...), "-N", "3")
		out := testkit.Run(t, append(append(args, options...), "--", "true")...).Want(t, 0).Stdout
		if got := strings.Contains(out, "RSP: "); got != want || !strings.Contains(out, " addr ") {
			t.Errorf("%v %v: got registers %t, want %t:\n%.300s", name, options, got, want, out)
		}
	}
	for _, x := range []struct {
		options []string
		want    bool
	}{{nil, false}, {[]string{"-g"}, true}, {[]string{"--regs"}, true}, {[]string{"-g", "--regs"}, true}} {
		f([]string{"page-faults"}, x.options, x.want)
	}
	f([]string{"trace", "-e", "page-faults"}, nil, false)
	f([]string{"trace", "-e", "page-faults"}, []string{"-g"}, true)
}
