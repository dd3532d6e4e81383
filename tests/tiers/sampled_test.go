package tiers

import (
	"bufio"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

// One of period events of the kernel's software counters is a sample, in both tiers, and
// stands for period events; addresses are those of the faults.
func TestSampledSoftwareEventsAgree(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	for _, pipeline := range []string{
		`software("page-faults", period = 7).by("period").agg(n = agg.count(), sum = agg.sum("period"))`,
		`software("page-faults").by(page = "addr >> 12").count()`,
		`software("page-faults").agg(n = agg.count(), sum = agg.sum("addr"))`,
	} {
		program := "def main(o):\n    return " + pipeline + "\n"
		testkit.Again(t, func() []string {
			l := testkit.StartTarget(t, "-fault", "700")
			// Each run has one source, because since 6.2 the kernel cannot distinguish events
			// of one kind that count the same hit of a software event.
			kernel, native := run(t, l, "bpf", program), run(t, l, "perf", program)
			l.Do()
			a := testkit.Tables(t, kernel.Stop().Want(t, 0).Stdout)
			b := testkit.Tables(t, native.Stop().Want(t, 0).Stdout)
			l.End()
			if strings.Contains(pipeline, "period") && (len(a[0].Rows) != 1 || !isSeventh(a[0].Rows[0])) {
				t.Errorf("got %v, want one of seven of 700 faults", a[0].Rows)
			}
			return compareAll(t, a, b)
		})
	}
}

// isSeventh reports whether a row has one of seven of about 700 events. Each CPU counts to seven
// by itself.
func isSeventh(r testkit.Row) bool {
	n, sum := r["n"], r["sum"]
	count, err := strconv.Atoi(fmt.Sprint(n))
	return err == nil && count >= 90 && count <= 130 && fmt.Sprint(sum) == strconv.Itoa(7*count)
}

// Both tiers see the values that a program writes to a variable.
func TestBreakpointsAgree(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.Breakpoints)...)
	target := exec.Command(buildProbed(t), strconv.Itoa(rounds))
	feed, err := target.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := target.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		feed.Close()
		if err := target.Wait(); err != nil {
			t.Error(err)
		}
	}()
	lines := bufio.NewScanner(out)
	lines.Scan() // the program is ready
	program := fmt.Sprintf(`
def main(o):
    w = breakpoint("total/8:w", pid = %d)
    return [w.by("data", "_comm").count(), w.agg(n = agg.count(), most = agg.max("data"))]
`, target.Process.Pid)
	var tiers []*testkit.Process
	for _, engine := range []string{"bpf", "perf"} {
		p := testkit.Start(t, testkit.PPScript(t), script(t, program),
			"--engine", engine, "--format", "json", "-v")
		p.WaitStderr(" open event")
		tiers = append(tiers, p)
	}
	fmt.Fprintln(feed, "go")
	lines.Scan() // the program is done
	var tables [2][]testkit.Table
	for i, p := range tiers {
		tables[i] = testkit.Tables(t, p.Stop().Want(t, 0).Stdout)
	}
	if wrong := compareAll(t, tables[0], tables[1]); len(wrong) > 0 || len(tables[0][0].Rows) != rounds {
		t.Errorf("got %v, want %d values: %s", tables[0], rounds, strings.Join(wrong, "\n"))
	}
	if got := tables[0][1].Rows[0].Int(t, "most"); got != 1000+rounds-3-1 {
		t.Errorf("got %d as the largest value, want %d", got, 1000+rounds-3-1)
	}
}

// One of period hits of a tracepoint is an event, in both tiers, and stands for period hits:
// only hits that pass the filter count, and conditions after it do not matter.
func TestSampledTracepointsAgree(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	const hits, period = 7003, 7 // of one thread, on one CPU
	source := fmt.Sprintf(`tracepoint("raw_syscalls:sys_enter", "id == %d", period = %d)`,
		syscall.SYS_GETPPID, period)
	for pipeline, want := range map[string]string{
		`.by("period").agg(n = agg.count(), sum = agg.sum("period"))`: "1000 7000",
		// The first argument is the number of the call: the last of each seven
		// calls is seen.
		`.where("args[0] < 70").agg(n = agg.count(), sum = agg.sum("args[0]"))`: "10 375",
	} {
		program := "def main(o):\n    return " + source + pipeline + "\n"
		explained := testkit.Run(t, testkit.PPScript(t), "explain", script(t, program)).Want(t, 0).Stdout
		for _, want := range []string{"one of 7", "counted inside the kernel"} {
			if !strings.Contains(explained, want) {
				t.Errorf("got %s, want %q", explained, want)
			}
		}
		l := testkit.StartTarget(t, "-getppid", strconv.Itoa(hits))
		tiers := map[string]*testkit.Process{}
		for _, engine := range []string{"bpf", "perf"} {
			tiers[engine] = run(t, l, engine, program)
		}
		l.Do()
		for engine, p := range tiers {
			rows := testkit.Tables(t, p.Stop().Want(t, 0).Stdout)[0].Rows
			if len(rows) != 1 {
				t.Fatalf("%s: got %v, want one row", engine, rows)
			}
			if got := fmt.Sprint(rows[0].Int(t, "n"), rows[0].Int(t, "sum")); got != want {
				t.Errorf("%s: %s: got %s, want %s", engine, pipeline, got, want)
			}
		}
		l.End()
	}
}
