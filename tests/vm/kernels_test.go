package vm

import (
	"strings"
	"testing"
	"time"
)

// Verifiers of older and newer kernels take the routines in C: those that hash stacks, find interpreters'
// frames, keep long texts and track the target; from 6.1 on those that walk stacks by unwind tables and make
// trees of calls. Before 5.17 stacks are copied. They take what programs do with texts and with slots of
// rows, too, and it is the same there.
func TestProgramsOnKernels(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, pkg := range []string{
		"bpf", "bpf/walk", "bpf/interpreted", "bpf/assembler", "bpf/eval", "bpf/state",
	} {
		name := pkg[strings.LastIndexByte(pkg, '/')+1:] + ".test"
		files["/w/"+name] = goProgram(t, "amd64", name, "test", "-c", module+pkg)
	}
	const stacks = "bpf.test -programs 150 -test.v " +
		"-test.run 'UnknownProcesses|Stack|RandomPrograms|SlotsAreShared'; failed=$((failed+$?))\n" +
		"interpreted.test -test.run 'Loads|Front' -test.v; failed=$((failed+$?))\n" +
		"assembler.test -test.run Routine -test.v; failed=$((failed+$?))\n" +
		"state.test -test.run 'WorkloadBegins|ChildrenComeIn|^TestThreads$' -test.v; failed=$((failed+$?))\n" +
		"eval.test -test.run 'TextsAreKept|EndsOfTexts|HashesThatMeet' -test.v; failed=$((failed+$?))\n"
	const walks = stacks +
		"walk.test -test.run 'Rules|FramePointers|DeepStacks|ToldApart|FollowFew' -test.v; " +
		"failed=$((failed+$?))\nassembler.test -test.run Repeat -test.v; failed=$((failed+$?))\n" +
		"state.test -test.run 'CallsNest|CallsOfThreads' -test.v; failed=$((failed+$?))\n"
	for kernel, commands := range map[string]string{
		"5.10": stacks, "6.1": walks, "6.12": walks, "newest": walks,
	} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			r := Run(t, Guest{Kernel: kernel, Files: files, Timeout: 8 * time.Minute},
				"export PPSCRIPT_REQUIRE=root,tracefs,tracepoints,btf\ncd /; failed=0\n"+
					commands+"exit $failed")
			out := string(r.Output)
			want := []string{"--- PASS: TestLoads", "--- PASS: TestRoutine", "--- PASS: TestRandomPrograms",
				"--- PASS: TestSlotsAreShared", "--- PASS: TestTextsAreKept", "--- PASS: TestHashesThatMeet",
				"--- PASS: TestChildrenComeIn"}
			if kernel == "5.10" {
				want = append(want, "--- SKIP: TestUnknownProcesses")
			} else {
				want = append(want, "--- PASS: TestUnknownProcesses", "--- PASS: TestRules",
					"--- PASS: TestRepeat", "--- PASS: TestVerifiersFollowFewPaths",
					"--- PASS: TestCallsNest", "--- PASS: TestCallsOfThreadsNest")
			}
			for _, passed := range want {
				if r.Status != 0 || !strings.Contains(out, passed) {
					t.Errorf("got status %d, want 0 and %q", r.Status, passed)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}
