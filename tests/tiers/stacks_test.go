package tiers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// stacks are counts by call stack of every kind that programs can make.
const stacks = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")
switch = tracepoint("sched:sched_switch")

def main(o):
    short = tracepoint("raw_syscalls:sys_enter").where("id == 110 || id == 35").stack(max = 6)
    ends = join([enter], [exit.stack(user = False)], key = "tid")
    return [
        enter.where("id == 110 || id == 230").stack(kernel = False).by("stack", "id").count(),
        short.stacks("id", name = "ids"),
        short.by("_tid", st = "stack", odd = "id & 1").agg(n = agg.count(), most = agg.max("id")),
        switch.where("prev_comm == \"load-0\"").stack().stacks(),
        ends.where("start.id == 257").by(where = "end.stack", call = "start.id").agg(n = agg.count(), least = agg.min("end.ret")),
        software("page-faults").stack().stacks("period", name = "faults"),
    ]
`

// A stackRecord is a record of type stacks.
type stackRecord struct {
	Name   string
	Loss   map[string]int64
	Stacks []struct {
		Key   map[string]any
		Count int64
		Value int64
		Stack []struct{ Addr, Symbol string }
	}
}

// Both tiers find the same stacks, with the same names and counts.
func TestKernelStacksAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	testkit.Again(t, func() []string { return stacksOfBoth(t) })
}

func stacksOfBoth(t *testing.T) (wrong []string) {
	t.Helper()
	l := testkit.StartTarget(t, "-getppid", "2000", "-sleep", "20", "-fail", "30", "-switch",
		"50", "-fault", "300")
	kernel, native := run(t, l, "bpf", stacks), run(t, l, "perf", stacks)
	l.Do()
	a, b := kernel.Stop().Want(t, 0).Stdout, native.Stop().Want(t, 0).Stdout
	l.End()
	tables, others := testkit.Tables(t, a), testkit.Tables(t, b)
	if len(tables) != 3 || len(others) != 3 {
		t.Fatalf("got %d and %d tables, want 3", len(tables), len(others))
	}
	for i := range tables {
		withoutNumbers(tables[i])
		withoutNumbers(others[i])
		wrong = append(wrong, compare(tables[i], others[i])...)
	}
	counts, losses := folded(t, a)
	want, more := folded(t, b)
	wrong = append(append(wrong, losses...), more...)
	if !slices.Equal(counts, want) {
		wrong = append(wrong, fmt.Sprintf("got\n%s\nwant\n%s", strings.Join(counts, "\n"),
			strings.Join(want, "\n")))
	}
	if n := len(counts); n < 5 || !strings.Contains(strings.Join(counts, "\n"), "main.touch") {
		wrong = append(wrong, fmt.Sprintf("got %d stacks, want some, of main.touch too:\n%s", n,
			strings.Join(counts, "\n")))
	}
	return wrong
}

// withoutNumbers removes the numbers of stacks in cells, which are only valid
// in a run, and keeps the names.
func withoutNumbers(table testkit.Table) {
	for _, r := range table.Rows {
		for name := range r {
			if short, ok := strings.CutSuffix(name, "_text"); ok {
				delete(r, short)
			}
		}
	}
}

// folded returns the stacks of output, one on a line: result, key, addresses
// and counts; and the number of lost ones.
func folded(t *testing.T, output string) (lines, losses []string) {
	t.Helper()
	for _, record := range testkit.All[stackRecord](t, output, "stacks") {
		for _, loss := range []string{"errors", "evicted", "lost"} {
			if record.Loss[loss] != 0 {
				losses = append(losses, fmt.Sprintf("%s: got %d %s, want none", record.Name,
					record.Loss[loss], loss))
			}
		}
		for _, s := range record.Stacks {
			line := fmt.Sprintf("%s %v %d %d", record.Name, s.Key, s.Count, s.Value)
			for _, f := range s.Stack {
				line += " " + f.Symbol + "@" + f.Addr
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines, losses
}

// The stacks of an interval are those of its events, and the intervals add up.
func TestKernelStacksByInterval(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	const calls, rounds = 2000, 4
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
	p := run(t, l, "bpf",
		`def main(o): return tracepoint("raw_syscalls:sys_enter").where("id == 110").stack().by("stack").count()`,
		"-i", "20ms")
	for range rounds {
		l.Do()
	}
	out := p.Stop().Want(t, 0)
	l.End()
	var sum int64
	for _, table := range testkit.Tables(t, out.Stdout) {
		for _, r := range table.Rows {
			if stack := fmt.Sprint(r["stack_text"]); !strings.Contains(stack, "main.newWorker") {
				t.Errorf("got stack %s, want that of the calls", stack)
			}
			sum += r.Int(t, "count")
		}
	}
	if sum != calls*rounds {
		t.Errorf("got %d, want %d", sum, calls*rounds)
	}
}

// Stacks of processes that end before their stacks are read have names
// nevertheless.
func TestKernelStacksOfTheDead(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	const calls, rounds = 50, 12
	program := script(t,
		`def main(o): return tracepoint("raw_syscalls:sys_enter").where("id == 110 && _comm ~ \"load*\"").stack(kernel = False).stacks()`)
	command := fmt.Sprintf("for i in %s; do %s -getppid %d; done", strings.Repeat("x ", rounds),
		testkit.Load(t), calls)
	out := testkit.Run(t, testkit.PPScript(t), program, "--engine", "bpf", "--format", "json", "--", "sh",
		"-c", command).Want(t, 0)
	var n int64
	for _, record := range testkit.All[stackRecord](t, out.Stdout, "stacks") {
		for _, s := range record.Stacks {
			if !slices.ContainsFunc(s.Stack, func(f struct{ Addr, Symbol string }) bool {
				return f.Symbol == "main.newWorker.func1"
			}) {
				t.Errorf("got %v, want names", s.Stack)
				continue
			}
			n += s.Count
		}
	}
	if n != calls*rounds {
		t.Errorf("got %d calls, want %d", n, calls*rounds)
	}
}

// A profile is counted in the kernel: the computing function is at its top,
// with about the CPU time that it had.
func TestKernelProfile(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	l := testkit.StartTarget(t, "-spin", "600")
	p := testkit.Start(t, testkit.PPScript(t), "profile", "--engine", "bpf", "-F", "997", "--event",
		"cpu-clock", "-g", "--user-callchain=fp", "--top", "100000",
		"--format", "json", "-v", "-p", fmt.Sprint(l.PID()))
	p.WaitStderr(" open event")
	before := cpuTime(t, l.PID())
	l.Do()
	used := cpuTime(t, l.PID()) - before
	var spin, all int64
	for _, record := range testkit.All[stackRecord](t, p.Stop().Want(t, 0).Stdout, "stacks") {
		for _, s := range record.Stacks {
			all += s.Value
			for _, f := range s.Stack {
				if f.Symbol == "main.(*worker).work" {
					spin += s.Value
					break
				}
			}
		}
	}
	l.End()
	if spin < all/2 || all < used/2 || all > 2*used {
		t.Errorf("got %d ns in work of %d ns in all, want most of the %d ns that were used", spin, all, used)
	}
}

// cpuTime returns the CPU time of a process in ns.
func cpuTime(t *testing.T, pid int) (ns int64) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		var own int64
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name()))
		if err == nil {
			_, err = fmt.Sscan(string(text), &own)
		}
		if err != nil {
			t.Fatal(err)
		}
		ns += own
	}
	return ns
}
