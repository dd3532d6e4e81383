package oracle

import (
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Faults have their registers below them if that is asked for, with stacks and
// without.
func TestRegistersOfFaultsAreAskedFor(t *testing.T) {
	live(t)
	for _, x := range []struct {
		options []string
		want    bool
	}{{nil, false}, {[]string{"-g"}, true}, {[]string{"--regs"}, true}, {[]string{"-g", "--regs"}, true}} {
		args := append([]string{testkit.PPScript(t), "page-faults", "-N", "3"}, x.options...)
		out := testkit.Run(t, append(args, "--", "true")...).Want(t, 0).Stdout
		if got := strings.Contains(out, "RSP: "); got != x.want || !strings.Contains(out, " addr ") {
			t.Errorf("%v: got registers %t, want %t:\n%.300s", x.options, got, x.want, out)
		}
	}
}
