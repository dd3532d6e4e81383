package oracle

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// hits returns the counts of funccount by event without its system.
func hits(t *testing.T, output string) map[string]int64 {
	t.Helper()
	table := last(t, output)
	noLoss(t, table)
	found := map[string]int64{}
	for _, r := range table.Rows {
		event := r.Text(t, "event")
		found[event[strings.LastIndexByte(event, ':')+1:]] = r.Int(t, "hits")
	}
	return found
}

// Hits are counted, not their weights: hits of sched_stat_runtime are as many as its events,
// although the kernel's counter adds nanoseconds.
func TestFunccountCountsHitsOfWeightedEvents(t *testing.T) {
	live(t)
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", "200", "-switch", "100", "-sleep", "20")
		const event = "sched:sched_stat_runtime"
		before := l.Switches()
		events := attach(t, l, "--format", "json", "--engine", "perf", "-c",
			`tracepoint("`+event+`").agg(hits = agg.count(), time = agg.sum("runtime"))`)
		ours := attach(t, l, "funccount", "-e", event, "--format", "json")
		same := l.Switches() == before
		l.Do()
		got := hits(t, ours.Stop().Want(t, 0).Stdout)["sched_stat_runtime"]
		want := last(t, events.Stop().Want(t, 0).Stdout).Rows[0]
		l.End()
		if !same {
			return []string{"the target's runtime did something while only one of them looked"}
		}
		if n := want.Int(t, "hits"); got != n || n < 100 || want.Int(t, "time") < 10*n {
			wrong = append(wrong, fmt.Sprintf("got %d hits, want %v", got, want))
		}
		return wrong
	})
}

const globs = "sched:sched_p*,sched:sched_w*,sched:sched_s*,raw_syscalls:*"

// The hits of events that match a pattern equal perf script's lines of the same
// recording, and perf stat's counts of the same threads.
func TestFunccountEqualsPerf(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := perfRecord(t, "-e", globs, "--", "sh", "-c",
		testkit.Load(t)+" -getppid 200 -switch 100 -sleep 20; true")
	want := map[string]int64{}
	for _, l := range lines {
		want[l.event[strings.LastIndexByte(l.event, ':')+1:]]++
	}
	out := testkit.Run(t, testkit.PPScript(t), "funccount", "--sampled", "-e", globs, "--input", file,
		"--format", "json").Want(t, 0)
	if got := hits(t, out.Stdout); !maps.Equal(got, want) || want["sys_enter"] < 300 || len(want) < 7 {
		t.Errorf("recorded: got %v, want %v", got, want)
	}

	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", "200", "-switch", "100", "-sleep", "20")
		before := l.Switches()
		perf := attachPerf(t, l, "stat", "-x,", "-e", globs)
		ours := attach(t, l, "funccount", "-e", globs, "--format", "json")
		same := l.Switches() == before
		l.Do()
		after := l.Switches()
		got := hits(t, ours.Stop().Want(t, 0).Stdout)
		want := perfCounts(t, perf.end())
		same = same && l.Switches() == after
		l.End()
		if !same {
			return []string{"the target's runtime did something while only one of them looked"}
		}
		for event, n := range want {
			name := event[strings.LastIndexByte(event, ':')+1:]
			if got[name] != n && !strings.HasPrefix(name, "sched_stat_") { // perf stat sums up their periods
				wrong = append(wrong, fmt.Sprintf("%s: got %d hits, want perf stat's %d",
					event, got[name], n))
			}
			delete(got, name)
		}
		if len(got) > 0 || want["raw_syscalls:sys_enter"] < 300 || want["sched:sched_switch"] < 100 {
			wrong = append(wrong, fmt.Sprintf("got also %v; perf stat has %v", got, want))
		}
		return wrong
	})
}

// Functions of a program that match a pattern have as many hits as the program
// makes calls.
func TestFunccountOfFunctions(t *testing.T) {
	live(t, testkit.GCC, testkit.Uprobes)
	program := compiled(t, "calls.c", "-O1")
	out := testkit.Run(t, testkit.PPScript(t), "funccount", "-e", fmt.Sprintf("uprobe:work_*@%q", program),
		"--format", "json", "--", program).Want(t, 0)
	if got, want := hits(t, out.Stdout),
		map[string]int64{"work_a": 10, "work_b": 25}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
