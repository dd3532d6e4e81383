package task

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tracefs"

	"ppscript/tests/testkit"
)

// The kernel writes the name of the thread into each sched_switch. A Table
// that reads only records and /proc must come to the same names.
func TestNamesAgreeWithKernel(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	fs, err := tracefs.Find()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := fs.Schema("sched", "sched_switch")
	if err != nil {
		t.Fatal(err)
	}
	events := capture(t, schema)
	// Others' threads may have another name by the time that /proc is asked;
	// of ours every record is there.
	own := map[int32]bool{int32(os.Getpid()): true}
	comm, _ := schema.Field("prev_comm")
	pid, _ := schema.Field("prev_pid")
	byRecords := New(Options{})
	renamed, checked := 0, map[string]int{}
	for i := range events {
		e := &events[i]
		if e.Kind != event.Sample {
			byRecords.Record(e)
			if e.Kind == event.Comm && own[e.PID] {
				renamed++
			}
			if f, ok := perf.DecodeFork(e); ok && own[f.PPID] {
				own[f.PID], own[f.TID] = true, true
			}
			continue
		}
		tid, _ := pid.Int(e)
		want := string(comm.Text(e))
		if !own[int32(tid)] {
			continue
		}
		got := byRecords.Comm(int32(tid))
		if got != want && got == "pid-"+strconv.Itoa(int(tid)) {
			continue // it had ended before /proc was asked
		}
		if got != want {
			t.Errorf("thread %d at %d: got %q, want %q", tid, e.Time, got, want)
		}
		checked[want]++
	}
	if checked["true"] == 0 || renamed == 0 {
		t.Errorf("got switches of %v and %d renamings, want some of the workload", checked, renamed)
	}
}

// capture runs a few short processes and returns everything that happened, in
// time order.
func capture(t *testing.T, schema *event.Schema) []event.Event {
	t.Helper()
	ctx := context.Background()
	src, err := perf.Open(ctx, perf.Config{
		Pages:    4096, // for all that the machine does meanwhile
		Events:   []perf.EventConfig{{Schema: schema}},
		SideBand: perf.SideBand{Comm: true, Task: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for range 5 {
		if err := exec.Command("/bin/true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	if err := src.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := src.Poll(ctx, 10*time.Millisecond); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	var all []event.Event
	batch := make([]event.Event, 64)
	for _, r := range src.Rings() {
		_, visible := r.Bounds()
		for {
			n := r.Read(batch, visible)
			for i := range batch[:n] {
				if batch[i].Kind == event.Lost {
					t.Fatalf("%d events were lost", batch[i].Count)
				}
				all = append(all, event.Event{})
				batch[i].Keep(&all[len(all)-1])
			}
			r.Release()
			if n < len(batch) {
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b event.Event) int { return int(a.Time - b.Time) })
	return all
}
