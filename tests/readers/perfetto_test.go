package readers

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// play runs a profiler over a recording and reads its timeline; the results come as JSON.
func play(t *testing.T, recording string, args ...string) (*trace, []map[string]any) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.pftrace")
	out := testkit.Run(t, append([]string{testkit.PPScript(t), args[0], "--input", data(t, recording),
		"--format", "json", "--perfetto", path}, args[1:]...)...).Want(t, 0)
	return readTrace(t, path), bodies(t, out.Stdout)
}

// rows returns the rows of the tables.
func rows(records []map[string]any) (list []map[string]any) {
	for _, r := range records {
		all, _ := r["rows"].([]any)
		for _, row := range all {
			list = append(list, row.(map[string]any))
		}
	}
	return list
}

// Slices add up to the table, to the ns, and lie on the threads that made the calls.
func TestPerfettoSlicesAddUpToTheTable(t *testing.T) {
	for _, recording := range []string{"load.data", "trace.data"} {
		tr, records := play(t, recording, "syscalls")
		type sum struct{ calls, total int64 }
		got, want := map[string]sum{}, map[string]sum{}
		for _, s := range tr.slices {
			x := got[s.args["start.id"]]
			got[s.args["start.id"]] = sum{x.calls + 1, x.total + s.end - s.begin}
			thread := tr.tracks[tr.tracks[s.track].num(5)]
			if err := thread.each(4, func(th message) error {
				if th.num(2) == 0 || th.num(1) == 0 || th.text(5) == "" {
					return fmt.Errorf("thread %v has no name or number", th)
				}
				return nil
			}); err != nil || thread[4] == nil {
				t.Errorf("%s: slice %v lies on %v, want a thread; %v", recording, s, thread, err)
			}
		}
		for _, r := range rows(records) {
			id := fmt.Sprint(r["syscalls"])
			calls, _ := r["calls"].(float64)
			total, _ := r["total"].(float64)
			x := want[id]
			want[id] = sum{x.calls + int64(calls), x.total + int64(total)}
		}
		if len(want) < 5 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", recording, got, want)
		}
	}
}

// Each event appears once: as an instant with its name and fields, as a switch or as a
// wake-up.
func TestPerfettoHasEachEvent(t *testing.T) {
	tr, records := play(t, "load.data", "trace", "-e", "raw_syscalls:*,kmem:kmalloc,sched:*")
	want, got := map[string]int{}, map[string]int{}
	for _, r := range records {
		if r["type"] == "event" {
			want[fmt.Sprint(r["event"])]++
		}
	}
	for _, s := range tr.instants {
		got[s.name]++
		if s.name == "kmem:kmalloc" && (s.args["bytes_alloc"] == "" || s.args["call_site"] == "") {
			t.Fatalf("got arguments %v, want those of kmalloc", s.args)
		}
	}
	got["sched:sched_switch"] = len(tr.switches)
	if runs := got["runs"]; runs != len(tr.follows) || runs == 0 {
		t.Errorf("got %d threads that run behind a wake-up, want %d", runs, len(tr.follows))
	}
	delete(got, "runs")
	if len(want) < 5 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	n := want["sched:sched_waking"] + want["sched:sched_wakeup"] + want["sched:sched_wakeup_new"]
	if len(tr.wakes) != n {
		t.Errorf("got %d wake-ups, want %d", len(tr.wakes), n)
	}
	for id, at := range tr.follows {
		if begin, ok := tr.leads[id]; !ok || begin > at {
			t.Errorf("flow %d ends at %d, and begins at %d", id, at, begin)
		}
	}
	var last uint64
	for _, s := range tr.switches {
		if s.num(1) < last {
			t.Errorf("switch at %d comes behind %d", s.num(1), last)
		}
		last = s.num(1)
	}
	if _, wall := tr.clocks[1]; tr.release == "" || tr.clocks[6] == 0 || wall {
		t.Errorf("got release %q, clocks %v; want those of a recording that knows no date", tr.release,
			tr.clocks)
	}
}

// Stacks of samples equal the folded stacks.
func TestPerfettoStacksAreTheFoldedOnes(t *testing.T) {
	fold := filepath.Join(t.TempDir(), "a.folded")
	tr, _ := play(t, "stacks.data", "page-faults", "-g", "--lines=no", "--flame-graph", fold)
	got := map[string]int64{}
	for _, s := range tr.instants {
		got[strings.Join(s.stack, ";")]++
	}
	_, total, self := folded(t, fold)
	if len(total) == 0 || len(self) == 0 {
		t.Fatal("no stacks")
	}
	gotTotal := map[string]int64{}
	for stack, n := range got {
		seen := map[string]bool{}
		for name := range strings.SplitSeq(stack, ";") {
			if !seen[name] {
				gotTotal[name] += n
			}
			seen[name] = true
		}
	}
	delete(total, "sh") // the keys: names of threads
	delete(total, "true")
	if fmt.Sprint(gotTotal) != fmt.Sprint(total) {
		t.Errorf("got %v\nwant %v", gotTotal, total)
	}
}

// For any profiler, slices are balanced and times grow on each track; reading the trace
// checks this.
func TestPerfettoOfAnyProfiler(t *testing.T) {
	for _, x := range []struct {
		recording string
		args      []string
		slices    int
	}{
		{"load.data", []string{"task-state"}, 100},
		{"load.data", []string{"sched-timehist"}, 0},
		{"load.data", []string{"rundelay"}, 20},
		{"load.data", []string{"multi-trace", "-e", "raw_syscalls:sys_enter", "-e", "raw_syscalls:sys_exit"}, 1000},
		{"load.data", []string{"multi-trace", "-e", "sched:sched_wakeup//key=pid/",
			"-e", "sched:sched_switch//key=next_pid/"}, 10},
		{"kvm.data", []string{"kvm-exit"}, 1000},
		{"states.data", []string{"oncpu"}, 0},
	} {
		tr, _ := play(t, x.recording, x.args...)
		if len(tr.slices) < x.slices || x.slices == 0 && len(tr.switches) == 0 {
			t.Errorf("%v of %s: got %d slices, %d instants, %d switches; want %d slices or more", x.args,
				x.recording, len(tr.slices), len(tr.instants), len(tr.switches), x.slices)
		}
	}
}

// Events of a run have the wall clock, and the threads that ran them.
func TestPerfettoOfARun(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	path := filepath.Join(t.TempDir(), "out.pftrace")
	before := time.Now()
	testkit.Run(t, testkit.PPScript(t), "multi-trace", "-e", "raw_syscalls:sys_enter",
		"-e", "raw_syscalls:sys_exit", "--perfetto", path, "-o", "/dev/null", "--", "sleep", "0.2").Want(t, 0)
	tr := readTrace(t, path)
	slept := false
	for _, s := range tr.slices {
		wall := time.Unix(0, tr.clocks[1]+s.begin-tr.clocks[6])
		if wall.Before(before.Add(-time.Second)) || wall.After(time.Now().Add(time.Second)) {
			t.Fatalf("slice %v was at %v, want since %v", s, wall, before)
		}
		slept = slept || s.end-s.begin > 200e6 && s.end-s.begin < 2e9
	}
	if !slept || len(tr.slices) < 20 {
		t.Errorf("got %d slices, and none of 200 ms: %v", len(tr.slices), tr.slices)
	}
}

// The number of missing events is a counter; a run without events gives a trace
// without events.
func TestPerfettoShowsLoss(t *testing.T) {
	tr, records := play(t, "load.data", "syscalls")
	want := map[string]float64{}
	for _, r := range records {
		loss, _ := r["loss"].(map[string]any)
		for name, n := range loss {
			want[name] = n.(float64)
		}
	}
	if len(want) == 0 || fmt.Sprint(tr.counters) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", tr.counters, want)
	}
	names := []string{}
	for _, track := range tr.tracks {
		if name := track.text(2); track[4] == nil && track[3] == nil && track[8] == nil && track.num(5) == 0 {
			names = append(names, name)
		}
	}
	if sort.Strings(names); fmt.Sprint(names) != "[events missing]" {
		t.Errorf("got groups %v", names)
	}
}
