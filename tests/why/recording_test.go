package why

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/why"
	"ppscript/tests/testkit"
)

// marks are the system calls of the observed programs that begin and end spans.
const (
	beginMark = "sys_enter_getpgid"
	endMark   = "sys_enter_getsid"
)

// readEvents reads a recording, in time order.
func readEvents(t testing.TB, file string) []event.Event {
	t.Helper()
	f, err := perfdata.Open(file, perfdata.Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var events []event.Event
	batch := make([]event.Event, 256)
	for done := false; !done; {
		if err := f.Poll(context.Background(), time.Second); errors.Is(err, io.EOF) {
			done = true
		} else if err != nil {
			t.Fatal(err)
		}
		for _, ring := range f.Rings() {
			for _, visible := ring.Bounds(); ; {
				n := ring.Read(batch, visible)
				for i := range batch[:n] {
					events = append(events, event.Event{})
					batch[i].Keep(&events[len(events)-1])
				}
				ring.Release()
				if n < len(batch) {
					break
				}
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event.Event) int { return int(a.Time - b.Time) })
	return events
}

// needs returns the events that the breakdown reads and this kernel has, and the marks of
// spans.
func needs() string {
	var events []string
	for _, n := range why.Needs() {
		system, name, _ := strings.Cut(n.Event, ":")
		_, err := os.Stat(filepath.Join("/sys/kernel/tracing/events", system, name))
		switch {
		case system == "software":
			events = append(events, name+"//period=1/") // each one, not a number in each second
		case err == nil:
			events = append(events, n.Event)
		}
	}
	return strings.Join(append(events, "syscalls:"+beginMark, "syscalls:"+endMark), ",")
}

// bigRings are the options for recordings without losses, also on a busy
// machine.
var bigRings = []string{"-m", "4096"}

// record records the program, and returns the file and the truth.
func record(t testing.TB, causes string, options []string, names ...string) (file string, truths []truth) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "causes.data")
	args := append([]string{testkit.PPScript(t), "record", "-a", "-e", needs(), "-o", file}, options...)
	args = append(append(args, "--", causes), programOptions(t)...)
	out := testkit.Run(t, append(args, names...)...).Want(t, 0)
	t.Log(out.Stderr)
	return file, readTruth(t, out.Stdout)
}

// programOptions returns the program's options for all scenarios that can run here: a
// disk, and a cgroup, which is removed after the test.
func programOptions(t testing.TB) []string {
	t.Helper()
	options := []string{"-d", t.TempDir()}
	for _, controller := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"} {
		dir, err := os.MkdirTemp(controller, "why")
		if err != nil {
			continue
		}
		t.Cleanup(func() { removeCgroup(dir) })
		if _, err := os.Stat(filepath.Join(dir, "cpu.cfs_quota_us")); err == nil {
			return append(options, "-g", dir)
		}
		if os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+cpu"), 0) == nil {
			return append(options, "-g", dir)
		}
	}
	return options
}

// removeCgroup removes a cgroup and the cgroups below it, once their last threads
// have ended.
func removeCgroup(dir string) {
	for range 100 {
		inside, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
		for _, file := range inside {
			syscall.Rmdir(filepath.Dir(file))
		}
		if syscall.Rmdir(dir) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// spansOf returns the marked spans of a recording by thread.
func spansOf(events []event.Event) map[int32]why.Span {
	spans := map[int32]why.Span{}
	for i := range events {
		e := &events[i]
		if e.Kind != event.Sample {
			continue
		}
		switch s := spans[e.TID]; e.Stream.Schema.Name {
		case beginMark:
			spans[e.TID] = why.Span{From: e.Time, TID: e.TID, PID: e.PID}
		case endMark:
			s.To = e.Time
			spans[e.TID] = s
		}
	}
	maps.DeleteFunc(spans, func(_ int32, s why.Span) bool { return s.From == 0 || s.To == 0 })
	return spans
}

// explain lets runtime/why explain the marked spans.
func explain(events []event.Event) map[int32]*result.WhySpan {
	told := map[int32]*result.WhySpan{}
	for tid, s := range spansOf(events) {
		told[tid] = tell(s, around(events, s))
	}
	return told
}

// scenarios returns the scenarios whose causes can be observed here: no tracepoint
// reports quotas.
func scenarios() []string {
	names := []string{
		"mutex-sleep", "mutex-compute", "mutex-disk", "disk", "timer", "computes", "chain", "child", "behind",
		"behind-cgroup", "inversion", "kernel-lock", "faults", "softirqs",
	}
	if _, err := os.Stat("/sys/kernel/tracing/kprobe_events"); err == nil {
		names = append(names, "quota")
	}
	return names
}

// The causes from a recording equal the program's truth; with losses they are the
// same or unknown.
func TestRecording(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.GCC)...)
	causes := program(t)
	var explained Proof
	var events []event.Event
	testkit.Again(t, func() (wrong []string) {
		file, truths := record(t, causes, bigRings, scenarios()...)
		events = readEvents(t, file)
		wrong = explained.check(t, truths, explain(events))
		args := append([]string{testkit.PPScript(t), "--input", file, "why"}, marked...)
		again := readShown(t, testkit.Run(t, args...).Want(t, 0).Stdout)
		return append(wrong, explained.check(t, truths, again)...)
	})
	if len(explained.Right) < 12 && !t.Failed() {
		t.Errorf("got the truth of %d scenarios, want at least 12", len(explained.Right))
	}
	checkLosses(t, events)
}
