package oracle

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file compares outputs in perf's form with perf's own, of one recording or of one kind of run.

// recordClock records where a command computes, and its switches, with perf.
func recordClock(t *testing.T, options ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clock.data")
	args := append([]string{"perf", "record", "-q", "-B", "-N", "--no-bpf-event", "-e", "cpu-clock",
		"-F", "999", "-o", file}, options...)
	testkit.Run(t, append(args, "--", testkit.Load(t), "-getppid", "2000", "-spin", "300", "-switch",
		"20")...).Want(t, 0)
	return file
}

// Lines of script are perf script's, field by field. perf 6.2 made the numbers of processes wider, so that
// lines are compared without the width of blanks.
func TestScriptLinesEqualPerf(t *testing.T) {
	live(t, testkit.Perf)
	names := firstNames(t)
	plain, switches := recordClock(t), recordClock(t, "-e", "sched:sched_switch")
	f := func(file string, options ...string) {
		t.Helper()
		perf := testkit.Run(t, append([]string{"perf", "script", "-i", file}, options...)...).Want(t, 0)
		ours := testkit.Run(t, append([]string{testkit.PPScript(t), "script", "--input", file},
			options...)...).Want(t, 0)
		want, got := spacedLines(perf.Stdout, names), spacedLines(ours.Stdout, names)
		if len(want) < 10 || !slices.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Errorf("script %v: got %d lines, want perf's %d; from line %d on\n%q\n%q", options, len(got),
				len(want), at, got[min(at, len(got)):min(at+2, len(got))],
				want[min(at, len(want)):min(at+2, len(want))])
		}
	}
	f(plain)
	f(plain, "-F", "comm,tid,time,event,ip,sym")
	f(plain, "-F", "comm,pid,tid,time,period,event,ip,sym,symoff,dso", "--ns")
	f(plain, "-F", "-comm,-period")
	f(plain, "-F", "sw:tid,ip,sym", "-F", "trace:time")
	f(switches, "-F", "comm,tid,time,event")
	f(switches, "-F", "comm,pid,tid,time,event,ip", "--ns")

	out := testkit.Run(t, testkit.PPScript(t), "script", "--input", plain, "-F", "comm,tine").Want(t, 2)
	if !strings.Contains(out.Stderr, "did you mean time?") {
		t.Errorf("got %q, want the nearest field", out.Stderr)
	}
}

// Records of info -D are as many as perf report counts, of each type.
func TestDumpedRecordsEqualPerf(t *testing.T) {
	live(t, testkit.Perf)
	file := recordClock(t, "-e", "sched:sched_switch")
	want := map[string]string{}
	stats := testkit.Run(t, "perf", "report", "-i", file, "--stats").Want(t, 0).Stdout
	_, all, _ := strings.Cut(stats, "TOTAL")
	all, _, _ = strings.Cut(all, " stats:\n") // of single events
	counted := regexp.MustCompile(`(?m)^ +([A-Z0-9_]+) events: +(\d+)`)
	for _, m := range counted.FindAllStringSubmatch(all, -1) {
		want[m[1]] = m[2]
	}
	dump := testkit.Run(t, testkit.PPScript(t), "info", "-D", file).Want(t, 0).Stdout
	for _, name := range []string{"SAMPLE", "COMM", "FORK", "EXIT", "MMAP", "MMAP2", "KSYMBOL"} {
		got := strings.Count(dump, "] "+name+", ")
		if fmt.Sprint(got) != cmp.Or(want[name], "0") {
			t.Errorf("%s: got %d records, want perf's %q of\n%s", name, got, want[name], stats)
		}
	}
}

// spacedLines are the lines of a text, with one blank for several, and one name for each function.
func spacedLines(text string, names map[string]string) (lines []string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i, word := range words {
			name, offset, _ := strings.Cut(word, "+")
			if first := names[name]; first != "" {
				words[i] = first + "+" + offset
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// firstNames has the first of the names of each function of the kernel: of its aliases, perf chooses one,
// and ppscript another.
func firstNames(t *testing.T) map[string]string {
	t.Helper()
	first, names := map[string]string{}, map[string]string{}
	for line := range strings.Lines(read(t, "/proc/kallsyms")) {
		words := strings.Fields(line)
		if first[words[0]] == "" {
			first[words[0]] = words[2]
		}
		names[words[2]] = first[words[0]]
	}
	return names
}

var reportRow = regexp.MustCompile(
	`(?m)^ +(\d+\.\d+)% +(\d+) +(\S.*?) {2,}(\S+) +\[(.)\] (.+?)(?: +- +-)? *$`)

// A table of profile --sort is perf report's, of one recording.
func TestSortEqualsPerfReport(t *testing.T) {
	live(t, testkit.Perf)
	file, names := recordClock(t), firstNames(t)
	name := func(symbol string) string { return cmp.Or(names[symbol], symbol) }
	perf := testkit.Run(t, "perf", "report", "-i", file, "--stdio", "-n", "--no-children", "--sort",
		"comm,dso,symbol").Want(t, 0)
	want := map[string]string{}
	for _, m := range reportRow.FindAllStringSubmatch(perf.Stdout, -1) {
		want[strings.Join([]string{m[3], m[4], name(m[6])}, "|")] = m[2] + " " + m[1]
	}
	out := testkit.Run(t, testkit.PPScript(t), "profile", "--sort", "comm,dso,symbol", "--input", file,
		"--format", "json").Want(t, 0)
	got := map[string]string{}
	for _, r := range last(t, out.Stdout).Rows {
		key := strings.Join([]string{r.Text(t, "comm"), r.Text(t, "dso"),
			name(r.Text(t, "symbol"))}, "|")
		got[key] = fmt.Sprintf("%d %.2f", r.Int(t, "samples"), r.Float(t, "share"))
	}
	if len(want) < 3 {
		t.Fatalf("perf report: understood %d rows of\n%s", len(want), perf.Stdout)
	}
	for key, w := range want {
		var a, b, n, m float64
		fmt.Sscan(w, &n, &a)
		fmt.Sscan(got[key], &m, &b)
		if n != m || math.Abs(a-b) > 0.011 {
			t.Errorf("%s: got %q, want perf's %q (samples, share)", key, got[key], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d rows, want perf's %d\n%v\n%v", len(got), len(want), got, want)
	}
}

// stat -x has perf's columns, alone, with runs and with intervals: the same events, units and metrics, and as
// many cells. Numbers of two runs of a command differ.
func TestStatColumnsEqualPerf(t *testing.T) {
	live(t, testkit.Perf)
	shape := func(text string) (rows []string) {
		for line := range strings.Lines(text) {
			cells := strings.Split(strings.TrimSuffix(line, "\n"), ";")
			for i, c := range cells {
				switch {
				case strings.Trim(c, " 0123456789.") == "":
					cells[i] = "N"
				case strings.Trim(c, "0123456789.%") == "":
					cells[i] = "N%"
				}
				if c == "" {
					cells[i] = ""
				}
				cells[i] = strings.TrimLeft(cells[i], "KM")
			}
			rows = append(rows, strings.Join(cells, ";"))
		}
		return rows
	}
	load := []string{"--", testkit.Load(t), "-getppid", "100", "-spin", "30"}
	f := func(options ...string) {
		t.Helper()
		perf := testkit.Run(t, slices.Concat([]string{"perf", "stat"}, options, load)...).Want(t, 0)
		ours := testkit.Run(t, slices.Concat([]string{testkit.PPScript(t), "stat"}, options,
			load)...).Want(t, 0)
		want, got := shape(perf.Stderr), shape(ours.Stdout)
		if len(want) < 4 || !slices.Equal(got, want) {
			t.Errorf("stat %v: got\n%s\nwant perf's\n%s", options, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
	f("-x", ";")
	f("-x", ";", "-r", "3")
	f("-x", ";", "-d")
	f("-x", ";", "-I", "60000")
}

// stat -r runs a command so often; each run has counts of its own, of which the text has the mean.
func TestStatRuns(t *testing.T) {
	live(t)
	file := filepath.Join(t.TempDir(), "runs")
	load := testkit.Load(t)
	command := []string{"sh", "-c", `echo run >>"$0"; exec "$1" -fault $((200 * $(grep -c run "$0")))`,
		file, load}
	run := func(options ...string) testkit.Output {
		return testkit.Run(t, slices.Concat([]string{testkit.PPScript(t), "stat"}, options, []string{"--"},
			command)...).Want(t, 0)
	}
	table := last(t, run("-r", "3", "--format", "json").Stdout)
	noLoss(t, table)
	if len(table.Rows) != 3 || strings.Count(read(t, file), "run") != 3 {
		t.Fatalf("got %d rows and %q, want three runs", len(table.Rows), read(t, file))
	}
	for i, r := range table.Rows {
		if n := r.Int(t, "run"); n != int64(i+1) {
			t.Errorf("row %d: got run %d", i, n)
		}
		if i == 0 {
			continue
		}
		// Each run has 200 faults more than the one before.
		if more := r.Int(t, "page-faults") - table.Rows[i-1].Int(t, "page-faults"); more < 150 || more > 250 {
			t.Errorf("run %d: got %d page faults more than before, want 200", i+1, more)
		}
	}
	text := run("-r", "2").Stdout
	if !regexp.MustCompile(`(?m)page-faults .*\( \+- +\d+\.\d\d% \)$`).MatchString(text) ||
		!strings.Contains(text, " +- ") {
		t.Errorf("got %q, want means with deviations", text)
	}
	out := testkit.Run(t, testkit.PPScript(t), "stat", "-r", "2", "--duration", "1ms").Want(t, 2)
	if !strings.Contains(out.Stderr, "there is no command") {
		t.Errorf("without a command: got %q", out.Stderr)
	}
}
