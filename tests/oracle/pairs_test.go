package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Late timers equal those in perf's samples, one by one.
func TestIrqOffEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf, testkit.Samples)
	file, _ := perfRecord(t, "-a", "-C", "0", "-e", "cpu-clock/period=1000000/", "--",
		testkit.Load(t), "-spin", "50", "-sleep", "20")
	const than = 1_005_000
	late, longest, total, last0 := int64(0), int64(0), int64(0), int64(0)
	lines := perfScript(t, file)
	for _, l := range lines {
		if gap := l.time - last0; last0 != 0 && gap > than {
			late++
			total += gap
			longest = max(longest, gap)
		}
		last0 = l.time
	}
	out := testkit.Run(t, testkit.PPScript(t), "irq-off", "--input", file, "--period", "1ms", "--than",
		"1005us", "--format", "json").Want(t, 0)
	var got [3]int64
	for _, r := range last(t, out.Stdout).Rows {
		got = [3]int64{r.Int(t, "late"), r.Int(t, "longest"), r.Int(t, "total")}
	}
	if want := [3]int64{late, longest, total}; got != want || len(lines) < 20 {
		t.Errorf("got %v late timers, longest gap and sum, want %v, of %d samples", got, want, len(lines))
	}
	if n := len(testkit.Events(t, out.Stdout)); int64(n) != late {
		t.Errorf("got %d lines, want %d", n, late)
	}
}

// Softirqs are measured from entry to exit, on each CPU.
func TestNestedTraceEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, _ := perfRecord(t, "-a", "-e", "irq:softirq_entry,irq:softirq_exit", "--",
		testkit.Load(t), "-sleep", "100", "-spin", "200")
	calls, total, longest := int64(0), int64(0), int64(0)
	began := map[int]int64{}
	for _, l := range perfScript(t, file) {
		if l.event == "irq:softirq_entry" {
			began[l.cpu] = l.time
		} else if at, ok := began[l.cpu]; ok {
			calls++
			total += l.time - at
			longest = max(longest, l.time-at)
			delete(began, l.cpu)
		}
	}
	out := testkit.Run(t, testkit.PPScript(t), "nested-trace", "--input", file, "-e",
		"irq:softirq_entry,irq:softirq_exit", "--format", "json").Want(t, 0)
	rows := last(t, out.Stdout).Rows
	if len(rows) != 1 || rows[0].Int(t, "calls") != calls || rows[0].Int(t, "total") != total ||
		rows[0].Int(t, "max") != longest || calls < 3 {
		t.Errorf("got %v, want %d softirqs, %d ns, at most %d", rows, calls, total, longest)
	}
}

// Bytes that are allocated, freed and left equal those in perf's lines.
func TestKmemprofEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, _ := perfRecord(t, "-a", "-C", "0", "-e", "kmem:kmalloc,kmem:kfree", "--",
		testkit.Load(t), "-fail", "50", "-spin", "10")
	type sum struct{ count, bytes int64 }
	var allocated, freed, left sum
	size := map[string]int64{}
	replaced := false // freed on the other CPU, and allocated again
	for _, l := range perfScript(t, file) {
		ptr := between(l.text, "ptr=", " ")
		if l.event == "kmem:kmalloc" {
			n := decimal(t, between(l.text, "bytes_alloc=", " "))
			if _, known := size[ptr]; known {
				replaced = true
			}
			allocated.count++
			allocated.bytes += n
			size[ptr] = n
		} else if n, ok := size[ptr]; ok {
			freed.count++
			freed.bytes += n
			delete(size, ptr)
		}
	}
	for _, n := range size {
		left.count++
		left.bytes += n
	}
	out := testkit.Run(t, testkit.PPScript(t), "kmemprof", "--input", file, "-k", "ptr", "-e",
		"kmem:kmalloc//size=bytes_alloc/", "-e", "kmem:kfree",
		"--format", "json").Want(t, 0)
	want := map[string]sum{"allocated": allocated, "freed": freed, "allocated and not freed": left}
	type stacks struct {
		Title      string
		TotalCount int64 `json:"total_count"`
		TotalValue int64 `json:"total_value"`
		Stacks     []struct{ Count, Value int64 }
	}
	for _, s := range testkit.All[stacks](t, out.Stdout, "stacks") {
		var got sum
		for _, x := range s.Stacks {
			got.count += x.Count
			got.bytes += x.Value
		}
		if got != want[s.Title] && !(replaced && s.Title == "allocated and not freed") {
			t.Errorf("%s: got %v, want %v", s.Title, got, want[s.Title])
		}
		if all := (sum{s.TotalCount, s.TotalValue}); all != got {
			t.Errorf("%s: got the total %v, want the sum of the stacks, %v", s.Title, all, got)
		}
	}
	text := testkit.Run(t, testkit.PPScript(t), "kmemprof", "--input", file, "-k", "ptr", "-e",
		"kmem:kmalloc//size=bytes_alloc/", "-e", "kmem:kfree").Want(t, 0)
	if line := fmt.Sprintf(" allocated\ntotal %d bytes in %d samples\n", allocated.bytes,
		allocated.count); !strings.Contains(text.Stdout, line) {
		t.Errorf("got no line %q in\n%s", line, text.Stdout)
	}
}

// If rows are threads, each has its name, and all the calls that it made; with
// stacks, the lines of slow pairs show the requested part.
func TestPairsOfThreads(t *testing.T) {
	live(t, testkit.AMD64)
	stages := []string{
		"-e", enter + "/id == " + getppid + "/", "-e", "raw_syscalls:sys_exit/id == " + getppid + "/",
	}
	for _, engine := range []string{"perf", "bpf"} {
		l := testkit.StartTarget(t, "-getppid", "300")
		p := attach(t, l, append([]string{"multi-trace", "--perins", "--format", "json", "--engine", engine},
			stages...)...)
		l.Do()
		l.End()
		out := p.Wait().Want(t, 0)
		rows := last(t, out.Stdout).Rows
		if len(rows) != 1 || rows[0].Text(t, "comm") != "load-0" || rows[0].Int(t, "calls") != 300 {
			t.Errorf("%s: got %v, want 300 calls of load-0", engine, rows)
		}
	}

	f := func(want, no, profiler string, options ...string) {
		t.Helper()
		out := testkit.Run(t, slices.Concat([]string{testkit.PPScript(t), profiler, "--than", "1ns", "-g"},
			options, []string{"--", testkit.Load(t), "-getppid", "20"})...).Want(t, 0)
		frames := 0
		for line := range strings.Lines(out.Stdout) {
			if strings.HasPrefix(line, "    ") && strings.Contains(line, want) {
				frames++
			}
			if strings.HasPrefix(line, "    ") && strings.Contains(line, no) {
				t.Errorf("%s %v: got %q, want no frame of %s", profiler, options, line, no)
			}
		}
		if frames < 40 {
			t.Errorf("%s %v: got %d frames of %s, want 40 at least", profiler, options, frames, want)
		}
	}
	nested := []string{"-e", stages[1] + "," + stages[3]}
	const kernel, user = "([kernel.kallsyms])", "/load)"
	f(kernel, user, "multi-trace", stages...)
	f(kernel, user, "syscalls", stages...)
	f(kernel, user, "nested-trace", nested...)
	f(user, kernel, "syscalls", append(stages, "--user-callchain", "--no-kernel-callchain")...)
	f(user, kernel, "nested-trace", append(nested, "--user-callchain", "--no-kernel-callchain")...)
}
