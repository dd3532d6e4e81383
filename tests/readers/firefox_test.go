package readers

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// playFirefox runs a profiler over a recording and reads its Firefox profile; the results
// come as JSON.
func playFirefox(t *testing.T, recording string, args ...string) (*firefoxProfile, []map[string]any) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.json")
	out := testkit.Run(t, append([]string{testkit.PPScript(t), args[0], "--input", data(t, recording),
		"--format", "json", "--firefox", path}, args[1:]...)...).Want(t, 0)
	return readFirefox(t, path), bodies(t, out.Stdout)
}

// Intervals add up to the table, to the ns, and lie on the threads that made the calls.
func TestFirefoxIntervalsAddUpToTheTable(t *testing.T) {
	for _, recording := range []string{"load.data", "trace.data"} {
		p, records := playFirefox(t, recording, "syscalls")
		type sum struct{ calls, total int64 }
		got, want := map[string]sum{}, map[string]sum{}
		for _, m := range p.marks() {
			id := fmt.Sprint(m.data["start.id"])
			got[id] = sum{got[id].calls + 1, got[id].total + m.end - m.begin}
			if m.end < 0 || m.thread.Tid <= 0 || m.thread.Name == "" || m.thread.Pid == "unknown" {
				t.Errorf("%s: marker %s from %d to %d is on %s %d of %s, want an interval on a thread", recording,
					m.name, m.begin, m.end, m.thread.Name, m.thread.Tid, m.thread.Pid)
			}
		}
		missing := map[string]float64{}
		for _, r := range records {
			loss, _ := r["loss"].(map[string]any)
			for name, n := range loss {
				missing[name] = n.(float64)
			}
		}
		for _, r := range rows(records) {
			id := fmt.Sprint(r["syscalls"])
			calls, _ := r["calls"].(float64)
			total, _ := r["total"].(float64)
			want[id] = sum{want[id].calls + int64(calls), want[id].total + int64(total)}
		}
		if len(want) < 5 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", recording, got, want)
		}
		told := map[string]float64{}
		for _, x := range p.Meta.Extra {
			for _, e := range x.Entries {
				told[e.Label] = e.Value
			}
		}
		if fmt.Sprint(told) != fmt.Sprint(missing) {
			t.Errorf("%s: the profile tells of %v missing, want %v", recording, told, missing)
		}
	}
}

// Each event is a marker with its time and fields; between switches there are intervals.
func TestFirefoxHasEachEvent(t *testing.T) {
	p, records := playFirefox(t, "load.data", "trace", "-e", "raw_syscalls:*,kmem:kmalloc,sched:*")
	want, got := map[string]int{}, map[string]int{}
	var first float64
	var on struct{ n, ns int64 }
	ran := map[string]struct { // the running thread by CPU, and since when it runs
		tid   float64
		since float64
	}{}
	key := func(name string, tid, at any) string { return fmt.Sprintf("%s of %v at %v", name, tid, at) }
	for _, r := range records {
		if r["type"] != "event" {
			continue
		}
		at := r["time"].(float64)
		if first == 0 {
			first = at
		}
		if r["event"] != "sched:sched_switch" {
			want[key(r["event"].(string), r["tid"], int64(at-first))]++
			continue
		}
		f, cpu := r["fields"].(map[string]any), fmt.Sprint(r["cpu"])
		prev, next := f["prev_pid"].(float64), f["next_pid"].(float64)
		if was, seen := ran[cpu]; seen && was.tid == prev && prev != 0 {
			on.n, on.ns = on.n+1, on.ns+int64(at-was.since)
		}
		ran[cpu] = struct{ tid, since float64 }{next, at}
	}
	var gotOn struct{ n, ns int64 }
	for _, m := range p.marks() {
		switch m.name {
		case "on CPU":
			gotOn.n, gotOn.ns = gotOn.n+1, gotOn.ns+m.end-m.begin
		case "runs":
		case "kmem:kmalloc":
			if m.data["bytes_alloc"] == nil || m.data["call_site"] == nil {
				t.Fatalf("got fields %v, want those of kmalloc", m.data)
			}
			fallthrough
		default:
			tid := m.thread.Tid
			if tid < 0 {
				tid = 0 // the idle thread of a CPU
			}
			got[key(m.name, tid, m.begin)]++
		}
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("got %d of %s, want %d", got[k], k, n)
		}
	}
	if len(want) < 100 || len(got) != len(want) {
		t.Errorf("got %d kinds of markers, want %d", len(got), len(want))
	}
	if on.n == 0 || gotOn != on {
		t.Errorf("got %d times on a CPU, %d ns; want %d, %d ns", gotOn.n, gotOn.ns, on.n, on.ns)
	}
}

// Stacks of markers equal the folded stacks.
func TestFirefoxStacksAreTheFoldedOnes(t *testing.T) {
	fold := filepath.Join(t.TempDir(), "a.folded")
	p, _ := playFirefox(t, "stacks.data", "page-faults", "-g", "--lines=no", "--flame-graph", fold)
	sum, total, _ := folded(t, fold)
	delete(total, "sh") // the keys: names of threads
	delete(total, "true")
	got, n := map[string]int64{}, int64(0)
	for _, m := range p.marks() {
		n++
		seen := map[string]bool{}
		for name := range strings.SplitSeq(m.stack, ";") {
			if !seen[name] {
				got[name]++
			}
			seen[name] = true
		}
	}
	if sum == 0 || n != sum || len(total) < 5 || fmt.Sprint(got) != fmt.Sprint(total) {
		t.Errorf("got %d stacks of %v\nwant %d of %v", n, got, sum, total)
	}
}

// The number of a run's samples equals that of the table and the folded stacks, and their
// times lie within the run.
func TestFirefoxOfARun(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	dir := t.TempDir()
	path, fold := filepath.Join(dir, "out.json"), filepath.Join(dir, "a.folded")
	before := time.Now()
	out := testkit.Run(t, testkit.PPScript(t), "profile", "-F", "500", "-g", "--lines=no", "--format", "json",
		"--firefox", path, "--flame-graph", fold, "--", "sh", "-c",
		"i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done").Want(t, 0)
	p := readFirefox(t, path)
	events := int64(0)
	for _, r := range bodies(t, out.Stdout) {
		if r["type"] == "event" {
			events++
		}
	}
	stacks, weight := map[string]int64{}, int64(0)
	for i := range p.Threads {
		th := &p.Threads[i]
		main := fmt.Sprint(th.Tid) == th.Pid
		if th.Tid <= 0 || th.Samples.WeightType != "samples" || main != th.IsMainThread {
			t.Errorf("got thread %s %d of %s, weights by %s", th.Name, th.Tid, th.Pid, th.Samples.WeightType)
		}
		for j, n := range th.Samples.Weight {
			weight += n
			seen := map[string]bool{}
			for name := range strings.SplitSeq(th.stack(th.Samples.Stack[j]), ";") {
				if !seen[name] && name != th.Name {
					stacks[name] += n
				}
				seen[name] = true
			}
			wall := time.UnixMicro(int64((p.Meta.StartTime + th.Samples.Time[j]) * 1e3))
			if wall.Before(before.Add(-time.Second)) || wall.After(time.Now().Add(time.Second)) {
				t.Fatalf("a sample was at %v, want since %v", wall, before)
			}
		}
	}
	sum, total, _ := folded(t, fold)
	delete(total, "sh")
	if sum < 20 || weight != sum || weight != events {
		t.Errorf("got samples of weight %d, want %d as the folded stacks and %d as the lines", weight, sum, events)
	}
	for name, n := range total {
		if stacks[name] != n {
			t.Errorf("got %d samples in %s, want %d", stacks[name], name, n)
		}
	}
}

// Both timelines of one run have the same intervals.
func TestFirefoxBesidePerfetto(t *testing.T) {
	other := filepath.Join(t.TempDir(), "out.pftrace")
	for _, args := range [][]string{
		{"load.data", "rundelay"}, {"kvm.data", "kvm-exit"}, {"load.data", "task-state"},
	} {
		p, _ := playFirefox(t, args[0], args[1], "--perfetto", other)
		type sum struct{ n, ns int64 }
		got, want := map[string]sum{}, map[string]sum{}
		for _, m := range p.marks() {
			if m.end >= 0 && m.name != "on CPU" {
				got[m.name] = sum{got[m.name].n + 1, got[m.name].ns + m.end - m.begin}
			}
		}
		for _, s := range readTrace(t, other).slices {
			want[s.name] = sum{want[s.name].n + 1, want[s.name].ns + s.end - s.begin}
		}
		if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: got %v, want %v", args, got, want)
		}
	}
}

// bodies are the records of output in JSON, each with its type.
func bodies(t *testing.T, text string) (records []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		body, _ := r["data"].(map[string]any)
		body["type"] = r["type"]
		records = append(records, body)
	}
	return records
}
