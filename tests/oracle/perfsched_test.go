package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file compares with the reports of perf sched on recordings that it made
// itself.

// schedRecord makes a recording of the load on all CPUs, and returns the
// threads that the load started, without its first, whose begin perf may miss.
func schedRecord(t *testing.T, recorder ...string) (file string, lines []line, own map[string]bool) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "pid")
	file, lines = perfRecordAs(t, recorder, "sh", "-c", `echo $$ >"$0"; exec "$@"`, root, testkit.Load(t),
		"-switch", "300", "-sleep", "50", "-spin", "10")
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	first := strings.TrimSpace(read(t, root))
	own = map[string]bool{first: true}
	for _, l := range lines {
		if l.event == forked && own[between(l.text, " pid=", " ")] {
			own[between(l.text, "child_pid=", " ")] = true
		}
	}
	delete(own, first)
	return file, lines, own
}

// threadSchedule is the history of a thread according to its switches and wake-ups.
type threadSchedule struct {
	runs        int64
	ran         int64
	woken, both delay // from the wake-up to running; and the same including waits after preemption
	running     int64 // since when the thread runs; 0 if it does not, as in the following
	ready, woke int64
}

// scheduledOf follows threads through the lines of a recording.
func scheduledOf(lines []line, own map[string]bool) map[string]*threadSchedule {
	threads := map[string]*threadSchedule{}
	for tid := range own {
		threads[tid] = &threadSchedule{}
	}
	for _, l := range lines {
		switch l.event {
		case "sched:sched_switch":
			if s := threads[between(l.text, "prev_pid=", " ")]; s != nil {
				if s.running != 0 {
					s.runs, s.ran = s.runs+1, s.ran+l.time-s.running
				}
				s.running, s.ready, s.woke = 0, 0, 0
				if state := between(l.text, "prev_state=", " "); strings.HasPrefix(state, "R") {
					s.ready = l.time
					if state == "R" { // it was preempted
						s.woke = l.time
					}
				}
			}
			if s := threads[between(l.text, "next_pid=", " ")]; s != nil {
				if s.ready != 0 {
					s.both.add(l.time - s.ready)
				}
				if s.woke != 0 {
					s.woken.add(l.time - s.woke)
				}
				s.running, s.ready, s.woke = l.time, 0, 0
			}
		case "sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new":
			if s := threads[between(l.text, " pid=", " ")]; s != nil && s.running == 0 {
				if s.ready == 0 {
					s.ready = l.time
				}
				if s.woke == 0 {
					s.woke = l.time
				}
			}
		}
	}
	return threads
}

// Delays equal those of perf sched latency, except for waits after a
// preemption, which perf leaves out (it looks up that state after the end of
// its list of letters). Run times are the times between switches; perf's are
// the scheduler's own, without the time of interrupts and of the host.
func TestSchedLatencyEqualsPerf(t *testing.T) {
	live(t, testkit.Perf)
	// perf sched record now records sched_waking, in which perf sched latency
	// finds no wake-ups, so the test records the events of older versions.
	file, lines, own := schedRecord(t, "perf", "record", "-a", "-e",
		"sched:sched_switch,sched:sched_stat_runtime,sched:sched_wakeup,sched:sched_wakeup_new,"+forked)
	want := scheduledOf(lines, own)

	// echo-0:123 | 0.915 ms | 34 | avg: 0.007 ms | max: 0.015 ms | ...
	row := regexp.MustCompile(
		`(?m)^ +\S.*?:(\d+) +\| +[\d.]+ ms \| +(\d+) \| avg: +([\d.]+) ms \| max: +([\d.]+) ms \|`)
	theirs := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(testkit.Run(t, "perf", "sched", "latency", "-p", "-i", file).
		Want(t, 0).Stdout, -1) {
		theirs[m[1]] = strings.Join(m[2:], " ")
	}
	ms := func(d delay) string {
		return fmt.Sprintf("%d %.3f %.3f", d.calls, float64(d.total)/float64(d.calls)/1e6, float64(d.max)/1e6)
	}
	same := 0
	for tid, w := range want {
		got, ok := theirs[tid]
		switch {
		case ok && got == ms(w.both):
			same++
		case ok && got != ms(w.woken) || !ok && w.woken.calls > 0:
			t.Errorf("%s: perf has %q, want %s, or %s without the times it was preempted", tid, got,
				ms(w.both), ms(w.woken))
		}
	}

	out := testkit.Run(t, testkit.PPScript(t), "sched-latency", "--input", file, "--format", "json").
		Want(t, 0)
	table := last(t, out.Stdout)
	type sums struct{ switches, ran, delayed, max int64 }
	ours := map[string]sums{}
	for _, r := range table.Rows {
		tid := strconv.FormatInt(r.Int(t, "pid"), 10)
		s, n := ours[tid], r.Int(t, "switches") // a thread that changes its name has two rows
		s.switches += n
		if r["runtime"] != nil {
			s.ran += r.Int(t, "runtime")
		}
		if n > 0 {
			s.delayed += n * r.Int(t, "avg delay")
			s.max = max(s.max, r.Int(t, "max delay"))
		}
		ours[tid] = s
	}
	delays := int64(0)
	for tid, w := range want {
		g := ours[tid]
		if g.switches != w.both.calls || g.ran != w.ran || g.max != w.both.max ||
			math.Abs(float64(g.delayed-w.both.total)) > float64(g.switches) {
			t.Errorf("%s: got %+v, want %+v", tid, g, *w)
		}
		delays += w.both.calls
	}
	t.Logf("%d threads, %d delays; perf has all delays of %d threads", len(want), delays, same)
	if len(want) < 3 || delays < 300 || same == 0 {
		t.Errorf("got %d threads with %d delays, perf has all of %d threads; want 3, 300, 1 at least",
			len(want), delays, same)
	}
}

// A mapLine is a switch: the CPU that switches, and the running threads of all
// CPUs.
type mapLine struct {
	at   string // seconds
	cpu  int
	runs []string
}

// mapLines parses a map, whose cells are *A0 or A0, four bytes each.
func mapLines(t *testing.T, output string, line *regexp.Regexp) (lines []mapLine) {
	t.Helper()
	tids := map[string]string{".": "0", "": "?"}
	for _, m := range line.FindAllStringSubmatch(output, -1) {
		l := mapLine{at: m[2], cpu: -1}
		if m[3] != "" {
			tids[m[3]] = m[4]
		}
		for cells := m[1]; cells != ""; cells = cells[min(4, len(cells)):] {
			cell := cells[:min(4, len(cells))]
			if cell[0] == '*' {
				l.cpu = len(l.runs)
			}
			tid, ok := tids[strings.TrimSpace(cell[1:])]
			if !ok {
				t.Fatalf("%q: a name that no line explains", m[0])
			}
			l.runs = append(l.runs, tid)
		}
		if l.cpu < 0 {
			t.Fatalf("%q: no CPU switches", m[0])
		}
		lines = append(lines, l)
	}
	return lines
}

// Every switch to one of the command's threads is a line of perf sched map, with
// the same threads on the CPUs.
func TestSchedMapEqualsPerf(t *testing.T) {
	live(t, testkit.Perf)
	file, lines, own := schedRecord(t, "perf", "sched", "record")
	theirs := mapLines(t, testkit.Run(t, "perf", "sched", "map", "-i", file).Want(t, 0).Stdout,
		regexp.MustCompile(`(?m)^  (.*?) +(\d+\.\d{6}) secs(?: (\S+) +=> .*:(\d+))? *$`))
	ours := mapLines(t, testkit.Run(t, testkit.PPScript(t), "sched-map", "--input", file).Want(t, 0).Stdout,
		regexp.MustCompile(`(?m)^(.*?) +(\d+\.\d{6})\d{3}(?: (\S+) => .*:(\d+))?$`))

	// Switches of two CPUs at the same time may be in any order.
	times := map[string]int{}
	for _, l := range lines {
		if l.event == "sched:sched_switch" {
			times[fmt.Sprintf("%d.%06d", l.time/1e9, l.time%1e9/1000)]++
		}
	}
	shown := func(lines []mapLine) map[string]string {
		m := map[string]string{}
		for _, l := range lines {
			if own[l.runs[l.cpu]] && times[l.at] == 1 {
				m[l.at] = fmt.Sprintf("CPU %d of %v", l.cpu, l.runs)
			}
		}
		return m
	}
	got, want := shown(ours), shown(theirs)
	for _, at := range slices.Sorted(maps.Keys(want)) {
		if got[at] != want[at] {
			t.Errorf("%s: got %q, want %q", at, got[at], want[at])
		}
	}
	if len(got) != len(want) || len(want) < 300 || len(ours) != len(theirs) {
		t.Errorf("got %d lines, %d of them of the command, want %d and %d, 300 at least", len(ours), len(got),
			len(theirs), len(want))
	}
}
