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

// One of so many events of the kernel's own counters is a sample, in both tiers, and stands
// for so many; addresses are those of the faults.
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
			// Of one source: the kernel (6.2) tells events of one kind apart no more, if they
			// count the same hit of its software.
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

// isSeventh reports that a row has one of seven of some 700. Each CPU counts to seven by itself.
func isSeventh(r testkit.Row) bool {
	n, sum := r["n"], r["sum"]
	count, err := strconv.Atoi(fmt.Sprint(n))
	return err == nil && count >= 90 && count <= 130 && fmt.Sprint(sum) == strconv.Itoa(7*count)
}

// What a program writes to a variable is seen by both tiers.
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
	lines.Scan() // it is ready
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
	lines.Scan() // it is done
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

// One of so many hits of a tracepoint is an event, in both tiers, and stands for so many: of
// those that pass the filter, whatever conditions come behind.
func TestSampledTracepointsAgree(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	const hits, period = 7003, 7 // of one thread, on one CPU
	source := fmt.Sprintf(`tracepoint("raw_syscalls:sys_enter", "id == %d", period = %d)`,
		syscall.SYS_GETPPID, period)
	for pipeline, want := range map[string]string{
		`.by("period").agg(n = agg.count(), sum = agg.sum("period"))`: "1000 7000",
		// The first argument numbers the calls: the last of each seven is seen.
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
