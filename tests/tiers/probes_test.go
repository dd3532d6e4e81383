package tiers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// The probes of a program with known numbers of calls, runtime/source/probe/testdata/target.c,
// have the same counts in the kernel as natively: arguments in registers, in memory and
// constant, returns, pairs, stacks, USDT notes with and without a semaphore.

const probed = `
work = uprobe(%[1]q, "work", args = "int a, char *s, long b")
back = uretprobe(%[1]q, "work", ret = "long")
note = usdt("demo:args", %[1]q)
gate = usdt("demo:gate", %[1]q)

def main(o):
    calls = join([work], [back], key = "tid")
    return [
        work.by("a", "b", "func").count(),
        work.where("a > 2 && b == 8589934592").by("_comm").agg(n = agg.count(), least = agg.min("arg1"), sum = agg.sum("a")),
        back.by("result", "retval").count(),
        calls.by("start.a", "end.result").agg(n = agg.count(), neg = agg.count(where = "delay < 0")),
        note.by("arg1", "arg3", "arg4").count(),
        note.by("arg5").count(),
        gate.by("arg1").count(),
        work.fold("tid", {"n": 0}, step).by("n").agg(sum = agg.sum("a")),
    ]

def step(s, e):
    s.n += 1
    if s.n %% 5 == 0:
        emit(n = s.n, a = e.a)
`

// rounds is how often the program repeats its calls.
const rounds = 24

// buildProbed compiles the program.
func buildProbed(t *testing.T) string {
	t.Helper()
	testkit.Requires(t, testkit.GCC)
	bin := filepath.Join(t.TempDir(), "target")
	compile := exec.Command("gcc", "-O2", "-o", bin, "../../runtime/source/probe/testdata/target.c")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return bin
}

// probedBy runs a script under an engine, with the program as a command that
// repeats its calls this often.
func probedBy(t *testing.T, engine, program, bin string, options ...string) testkit.Output {
	t.Helper()
	args := append([]string{testkit.PPScript(t), script(t, program), "--engine", engine, "--format", "json"},
		options...)
	feed := fmt.Sprintf("printf 'go\\n' | %s %d > /dev/null", bin, rounds)
	return testkit.Run(t, append(args, "--", "sh", "-c", feed)...).Want(t, 0)
}

func TestProbesAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.Uprobes)...)
	bin := buildProbed(t)
	program := fmt.Sprintf(probed, bin)
	kernel := testkit.Tables(t, probedBy(t, "bpf", program, bin).Stdout)
	native := testkit.Tables(t, probedBy(t, "perf", program, bin).Stdout)
	for _, wrong := range compareAll(t, kernel, native) {
		t.Error(wrong)
	}
	// Variables can be read at the event, but not after the process has ended.
	program = fmt.Sprintf("def main(o):\n    return usdt(\"demo:args\", %q).by(\"arg6\", \"arg7\").count()\n",
		bin)
	rows := testkit.Tables(t, probedBy(t, "bpf", program, bin).Stdout)[0].Rows
	for _, r := range rows {
		if len(rows) != 4 || r.Int(t, "arg6")%10 != 0 || r.Int(t, "arg7") != 7 ||
			r.Int(t, "count") != rounds/4 {
			t.Errorf("got %v, want 10, 20, 30 and 40, each %d times", rows, rounds/4)
		}
	}

	// The expected values follow from the program's source.
	for i, table := range kernel {
		n := int64(0)
		for _, r := range table.Rows {
			for _, column := range []string{"count", "n"} {
				if _, ok := r[column]; ok && i != 1 && i < 7 {
					n += r.Int(t, column)
				}
			}
		}
		if i != 1 && i < 7 && n != rounds {
			t.Errorf("%s: got %d, want %d", table.Name, n, rounds)
		}
	}
	if got := kernel[1].Rows[0]; got.Int(t, "n") != 18 || got.Int(t, "sum") != (3+20)*18/2 {
		t.Errorf("got %v, want 18 calls of 3 to 20", got)
	}
}

// Stacks of probes are the same, and explain says how the programs are attached.
func TestProbeStacksAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.Uprobes)...)
	bin := buildProbed(t)
	program := fmt.Sprintf("def main(o):\n    return uprobe(%q, \"probes\").by(\"stack\").count()\n", bin)
	var texts []string
	for _, engine := range []string{"bpf", "perf"} {
		args := []string{testkit.PPScript(t), script(t, program), "--engine", engine}
		feed := fmt.Sprintf("printf 'go\\n' | %s %d > /dev/null", bin, rounds)
		out := testkit.Run(t, append(args, "--", "sh", "-c", feed)...).Want(t, 0).Stdout
		_, table, _ := strings.Cut(out, "\n") // the first line is the time
		texts = append(texts, table)
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "probes") || !strings.Contains(texts[0], "24") {
		t.Errorf("got %s, want %s", texts[0], texts[1])
	}
	out := testkit.Run(t, testkit.PPScript(t), "explain", script(t, program)).Want(t, 0).Stdout
	if !strings.Contains(out, "engine          bpf") || !strings.Contains(out, "by an event of perf") {
		t.Errorf("got %s, want that a program is attached by an event of perf", out)
	}
}
