package why

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

// A virtual CPU that does not run all the time, because it shares its CPU with a shell that
// computes. The causes of its thread's time equal the kernel's account of the thread. tests/vm has
// the same test on a host that is itself a guest, for machines that cannot run virtual machines.
func TestVirtualCPU(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Program("taskset"))...)
	minikvm := testkit.Build(t, "tests/vm/minikvm")
	if out := testkit.Run(t, minikvm, "10"); out.Exit != 0 {
		t.Skipf("no virtual machine runs here: %s", out.Stderr)
	}
	var explained Proof
	testkit.Again(t, func() (wrong []string) {
		args := append([]string{testkit.PPScript(t), "why", "--before", "30ms"}, marked...)
		args = append(args, "--", "taskset", "-c", strconv.Itoa(runtime.NumCPU()-1), "sh", "-c",
			BesideShell(minikvm, 1000))
		out := testkit.Run(t, args...).Want(t, 0)
		behind, shell := int64(0), int64(0)
		eachShown(t, out.Stdout, func(s *result.WhySpan) {
			for i := range s.Parts {
				if l := s.Parts[i].Cause(); l.Kind == result.WhyBehind {
					behind += s.Parts[i].NS()
					if l.Whom.Comm == "sh" && l.Foreign {
						shell += s.Parts[i].NS()
					}
				}
			}
		})
		if shell <= behind/20 {
			wrong = append(wrong, fmt.Sprintf("got %d ns behind the shell of %d ns without a CPU", shell,
				behind))
		}
		return append(wrong, explained.Output(t, out.Stdout)...)
	})
}
