package tiers

import (
	"os/exec"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// asks are folds that read states of other folds: of another thread, of the current thread
// with events that both folds use, by a text key, and of a fold that reads a state itself.
const asks = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")
switch = tracepoint("sched:sched_switch")

def called(s, e):
    s.n += 1
    s.id = e.id
    s.even = s.n % 2 == 0

def named(s, e):
    s.n += calls.at(e._tid).n

def ended(s, e):
    tid = e._tid
    emit(id = calls.at(tid).id, n = calls.at(tid).n % 8, none = calls.at(tid + 1000000).id, even = calls.at(tid).even)

def other(s, e):
    before, after = e.prev_pid, e.next_pid
    emit(
        behind = calls.at(before).id if before else -2,
        next = calls.at(after).id if after else -2,
        sum = names.at(e.prev_comm).n % 4,
    )

calls = enter.fold("_tid", {"n": 0, "id": -1, "even": False}, called)
names = enter.fold("_comm", {"n": 0}, named)

def main(o):
    seen = exit.fold("_tid", {"n": 0}, ended)
    return [
        seen.by("id", "n", "none", "even").count(),
        seen.where("n == 3").by("id").count(),
        switch.fold("prev_pid", {"n": 0}, other).by("behind", "next").agg(n = agg.count(), sum = agg.sum("sum")),
    ]
`

func TestAsksAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	if out := explained(t, asks); !strings.Contains(out, "\nengine          bpf: ") {
		t.Fatalf("got %s", out)
	}
	agree(t, asks)
}

// explained returns the output of explain for a script.
func explained(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command(testkit.PPScript(t), "explain", script(t, program)).CombinedOutput()
	if err != nil {
		t.Fatalf("got %v, %s", err, out)
	}
	return string(out)
}

// A fold whose events leave the kernel reads the state in the kernel.
func TestAsksAgreeWhereCut(t *testing.T) {
	program := asks[:strings.Index(asks, "    return [")] +
		`    return [seen.where("n == 3 && id == 110").log(), seen.by("id").count()]` + "\n"
	agreeWhereCut(t, 1, func() string { return program }, "folds")
}

// A fold that reads a state runs in the same tier as the fold with this state.
func TestAsksStayTogether(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	out := explained(t, strings.Replace(asks, "tid = e._tid", "tid = [e._tid][0]", 1))
	for _, line := range []string{"interpreted fold:", "native      fold2", "native      fold4"} {
		if !strings.Contains(out, line) {
			t.Errorf("got no %q beside a fold that is interpreted:\n%s", line, out)
		}
	}
}
