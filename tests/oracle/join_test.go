package oracle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file checks that pairs of joins equal the pairs computed from the lines
// of perf script.

// A delay has the numbers for the pairs of a start and an end.
type delay struct{ calls, total, min, max int64 }

func (d *delay) add(ns int64) {
	if d.calls++; d.calls == 1 || ns < d.min {
		d.min = ns
	}
	d.total, d.max = d.total+ns, max(d.max, ns)
}

// A stageOf returns the stage of a line, -1 for none, and its key.
type stageOf func(l line) (stage int, name, key string)

// pairsOf relates lines by the definition: an end takes the newest start of its
// key, if no other event of the key came in between.
func pairsOf(lines []line, last int, of stageOf) map[string]*delay {
	waiting := map[string]line{}
	where := map[string]int{}
	names := map[string]string{}
	found := map[string]*delay{}
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	for _, l := range lines {
		stage, name, key := of(l)
		if stage < 0 {
			continue
		}
		if s, ok := waiting[key]; ok && stage > 0 {
			if where[key] == stage-1 && s.time < l.time {
				pair := names[key] + "=>" + name
				if found[pair] == nil {
					found[pair] = &delay{}
				}
				found[pair].add(l.time - s.time)
			}
			delete(waiting, key)
		}
		if stage < last {
			waiting[key], where[key], names[key] = l, stage, name
		}
	}
	return found
}

// compareDelays compares a latency table over a recording with want.
func compareDelays(t *testing.T, file, program string, want map[string]*delay) {
	t.Helper()
	out := testkit.Run(t, testkit.PPScript(t), "--input", file, "--format", "json", "-c", program).Want(t, 0)
	got := map[string]*delay{}
	for _, r := range last(t, out.Stdout).Rows {
		got[r.Text(t, "start")+"=>"+r.Text(t, "end")] = &delay{
			r.Int(t, "calls"), r.Int(t, "total"), r.Int(t, "min"), r.Int(t, "max"),
		}
	}
	text := func(m map[string]*delay) string {
		var lines []string
		for _, k := range slices.Sorted(maps.Keys(m)) {
			lines = append(lines, fmt.Sprintf("%s %+v", k, *m[k]))
		}
		return strings.Join(lines, "\n")
	}
	if text(got) != text(want) || len(want) == 0 {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", program, text(got), text(want))
	}
}

// Soft interrupts stay on their CPU: the CPU is the key.
func TestSoftirqLatencyEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := perfRecord(t, "-C", "0", "-e", "irq:softirq_entry", "-e", "irq:softirq_exit", "--",
		"taskset", "-c", "0", testkit.Load(t), "-switch", "200", "-sleep", "60", "-spin", "60")
	want := pairsOf(lines, 1, func(l line) (int, string, string) {
		name := strings.TrimPrefix(l.event, "irq:")
		return map[string]int{"softirq_entry": 0, "softirq_exit": 1}[name], name, fmt.Sprint(l.cpu)
	})
	compareDelays(t, file, `join([tracepoint("irq:softirq_entry")], [tracepoint("irq:softirq_exit")]).latency()`, want)
	// With impl = "nested" the pairs are the same, because soft interrupts do
	// not nest.
	compareDelays(t, file, `join([tracepoint("irq:softirq_entry"), tracepoint("irq:softirq_exit")], impl = "nested").latency()`, want)
}

// System calls belong to a thread, on any CPU.
func TestSyscallLatencyEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := perfRecord(t, "-e", enter, "-e", leave, "--", testkit.Load(t), "-getppid", "800",
		"-switch", "100", "-sleep", "5")
	want := pairsOf(lines, 1, func(l line) (int, string, string) {
		name := strings.TrimPrefix(l.event, "raw_syscalls:")
		return map[string]int{"sys_enter": 0, "sys_exit": 1}[name], name, fmt.Sprint(l.tid)
	})
	compareDelays(t, file, `join([tracepoint("`+enter+`")], [tracepoint("`+leave+
		`")], key = "_tid").latency()`, want)
}

// Work items go through three stages, related by the address of the item.
func TestWorkqueueStagesEqualPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	const wq = "workqueue:workqueue_"
	file, lines := perfRecord(t, "-a", "-e", wq+"queue_work", "-e", wq+"execute_start", "-e",
		wq+"execute_end", "--",
		"sh", "-c", "i=0; while [ $i -lt 30 ]; do echo >"+filepath.Join(t.TempDir(), "f")+
			"; sync -d /tmp; i=$((i+1)); done; sleep 0.2")
	stage := map[string]int{wq + "queue_work": 0, wq + "execute_start": 1, wq + "execute_end": 2}
	want := pairsOf(lines, 2, func(l line) (int, string, string) {
		rest, ok := strings.CutPrefix(l.text, "work struct")
		if !ok {
			t.Fatalf("got %q, want a work item", l.text)
		}
		key, _, _ := strings.Cut(strings.TrimLeft(rest, "= "), " ")
		return stage[l.event], strings.TrimPrefix(l.event, "workqueue:"), strings.TrimSuffix(key, ":")
	})
	compareDelays(t, file, `join([tracepoint("`+wq+`queue_work")], [tracepoint("`+wq+
		`execute_start")], [tracepoint("`+wq+`execute_end")], key = "work").latency()`, want)
}

// A task that sleeps is switched out, woken by another context, and switched
// in: three kinds of events in the rings of all CPUs.
func TestSleepAndRunDelayEqualPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := recordLoads(t, []string{
		"-e", "sched:sched_switch", "--filter", ofLoads, "-e", "sched:sched_wakeup", "--filter",
		wakesLoads,
	},
		"-switch", "200", "-sleep", "40")
	want := pairsOf(lines, 1, func(l line) (int, string, string) {
		if l.event == "sched:sched_wakeup" {
			// A running task does not wait: it wakes itself.
			pid := between(l.text, "pid=", " ")
			if pid == fmt.Sprint(l.tid) {
				return -1, "", ""
			}
			return 0, "sched_wakeup", pid
		}
		return 1, "sched_switch", between(l.text, "next_pid=", " ")
	})
	// With a filter on the switches, ppscript does not recognize wake-ups of
	// tasks that still run; nor does the computation here.
	compareDelays(t, file, `join([tracepoint("sched:sched_wakeup").key("pid")], `+
		`[tracepoint("sched:sched_switch", filter = "next_pid >= 0").key("next_pid")]).latency()`, want)
}

// slowPair is a record of type detail.
type slowPair struct {
	Pair   string
	Delay  int64
	Start  struct{ Time int64 }
	End    *struct{ Time int64 }
	Events []struct {
		Part   string
		Since  int64
		Time   int64
		Event  string
		Text   string
		State  string
		Hidden int
	}
}

// slowPairs returns the details of a run over a recording.
func slowPairs(t *testing.T, file, program string) (pairs []slowPair) {
	t.Helper()
	out := testkit.Run(t, testkit.PPScript(t), "--input", file, "--format", "json", "-c", program).Want(t, 0)
	for _, text := range strings.Split(out.Stdout, "\n") {
		var r struct {
			Type string
			Data slowPair
		}
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if r.Type == "detail" {
			pairs = append(pairs, r.Data)
		}
	}
	return pairs
}

// The events shown for a slow pair are perf script's lines between its two
// lines, of all CPUs, and those of the requested time before and after.
func TestDetailsEqualPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := perfRecord(t, "-e", "sched:sched_switch", "-e", "sched:sched_wakeup", "-e", enter,
		"-e", leave, "--", testkit.Load(t), "-switch", "50", "-sleep", "10", "-getppid", "100")
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	join := `join([tracepoint("` + enter + `"), tracepoint("sched:sched_switch").untraced()], [tracepoint("` +
		leave + `"), tracepoint("sched:sched_wakeup").untraced()], key = "_tid")`
	const around = 200_000
	pairs := slowPairs(t, file, join+`.slow(500 * us, detail = detail(before = 200 * us, after = 200 * us))`)
	want := pairsOf(lines, 1, func(l line) (int, string, string) {
		switch l.event {
		case enter:
			return 0, "a", fmt.Sprint(l.tid)
		case leave:
			return 1, "b", fmt.Sprint(l.tid)
		}
		return -1, "", ""
	})
	if len(pairs) == 0 || int64(len(pairs)) > want["a=>b"].calls {
		t.Fatalf("got %d slow pairs of %d", len(pairs), want["a=>b"].calls)
	}
	for _, p := range pairs {
		var got, all []string
		for _, e := range p.Events {
			got = append(got, fmt.Sprintf("%d %s %s", e.Time, e.Event, e.Text))
		}
		for _, l := range lines {
			if l.time >= p.Start.Time-around && l.time <= p.End.Time+around {
				all = append(all, fmt.Sprintf("%d %s %s", l.time, l.event, l.text))
			}
		}
		// The start and the end themselves are not among the events.
		if len(got) != len(all)-2 {
			t.Errorf("pair at %d: got %d events, want %d", p.Start.Time, len(got), len(all)-2)
			continue
		}
		missing := 0
		for _, text := range all {
			if !slices.Contains(got, text) {
				missing++
			}
		}
		if missing > 2 {
			t.Errorf("pair at %d: %d lines of perf script are missing", p.Start.Time, missing)
		}
		if d := p.End.Time - p.Start.Time; d != p.Delay || d <= 500_000 {
			t.Errorf("pair at %d: got delay %d, want %d and more than 500 us", p.Start.Time, p.Delay, d)
		}
	}
}

// A sleep has the requested length, live.
func TestSleepIsSlowLive(t *testing.T) {
	live(t, testkit.AMD64)
	out := testkit.Run(t, testkit.PPScript(t), "--format", "json", "-c",
		`join([tracepoint("`+enter+`", filter = "id == 230 || id == 35")], [tracepoint("`+leave+
			`", filter = "id == 230 || id == 35")], key = "_tid").slow(3 * ms)`,
		"--", "sleep", "0.05").Want(t, 0)
	n := strings.Count(out.Stdout, `"type":"detail"`)
	if n != 1 {
		t.Fatalf("got %d slow sleeps, want 1\n%s", n, out.Stdout)
	}
	var r struct{ Data slowPair }
	if err := json.Unmarshal([]byte(strings.SplitN(out.Stdout, "\n", 2)[0]), &r); err != nil {
		t.Fatal(err)
	}
	if r.Data.Delay < 50e6 || r.Data.Delay > out.Took.Nanoseconds() {
		t.Errorf("got %d ns, want 50 ms and a little, in a run of %v", r.Data.Delay, out.Took)
	}
}
