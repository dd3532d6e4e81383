package tiers

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// For evaluations that fail in programs, a message says for which events, and what can fail. If no
// result is left, the run fails.
func TestFailuresOfProgramsAreTold(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	const program = `tracepoint("raw_syscalls:sys_enter").by(lambda e: 100 // (e.id - e.id)).count()`
	out := testkit.Run(t, testkit.PPScript(t), "--engine", "bpf", "-c", program, "--", "true").Want(t, 1)
	told := regexp.MustCompile(`(\d+) evaluations failed in the kernel.*: (\d+) of raw_syscalls:sys_enter, ` +
		`in the keys and values of table, .*\(100 // \(id - id\)\) \(a division by zero\)`).
		FindStringSubmatch(out.Stderr)
	if told == nil || told[1] != told[2] || !strings.Contains(out.Stdout, told[1]+" events errors") ||
		!strings.Contains(out.Stderr, "nothing is left to show, of lambda at <-c>:1:41") {
		t.Errorf("got %q\n%s%s", told, out.Stdout, out.Stderr)
	}
}

// A wrong enumerator is reported before anything is opened, with the nearest name.
func TestWrongEnumeratorsAreTold(t *testing.T) {
	testkit.Requires(t, testkit.BTF)
	for _, where := range []string{`"prev_pid == PIDTYPE_TGIDD"`,
		`lambda e: e.prev_pid == enumerator("PIDTYPE_TGIDD")`} {
		file := script(t, `def main(o): return tracepoint("sched:sched_switch").where(`+where+`).count()`)
		out, err := exec.Command(testkit.PPScript(t), "check", file).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "enumerator PIDTYPE_TGIDD") ||
			!strings.Contains(string(out), "did you mean PIDTYPE_TGID?") {
			t.Errorf("%s: got %v, %s", where, err, out)
		}
	}
}
