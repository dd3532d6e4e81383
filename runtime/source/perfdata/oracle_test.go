package perfdata

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"

	"ppscript/tests/testkit"
)

// perf record, in the ways that make different recordings, and perf script
// over each: the same samples at the same times on the same CPUs.
func TestAgainstPerfRecord(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Perf, testkit.Long)...)
	// At least one switch for each process, however they are scheduled.
	const load = "i=0; while [ $i -lt 40 ]; do i=$((i+1)); /bin/true; done"
	const both = "for c in 0 1; do taskset -c $c sh -c '" + load + "' & done; wait"
	f := func(name, script string, args ...string) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "perf.data")
			testkit.Again(t, func() []string {
				if !perfRecords(t, path, script, args...) {
					return []string{"perf script stumbles over the recording"}
				}
				return nil
			})
			want := squeeze(runPerf(t, "script", "-i", path, "--ns", "-F", "pid,tid,cpu,time,event"))
			file, err := Open(path, Options{Ordered: true})
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			var got []string
			for _, e := range byTime(t, file) {
				if e.Kind == event.Sample {
					got = append(got, fmt.Sprintf("%d/%d [%03d] %d.%09d: %s:", e.PID, e.TID, e.CPU,
						e.Time/1e9, e.Time%1e9, e.Stream.Label))
				}
			}
			// Equal times have no order.
			slices.Sort(got)
			slices.Sort(want)
			compare(t, name, got, want)
			if len(got) < 20 || len(file.Warnings()) > 0 || !file.Loss().Zero() {
				t.Errorf("%d samples, warnings %q, loss %+v", len(got), file.Warnings(), file.Loss())
			}
			late := 0
			for _, r := range all(t, reopen(t, path)) {
				var last event.Time
				for i := range r {
					if r[i].Time < last {
						late++
					}
					last = max(last, r[i].Time)
				}
			}
			if late > 0 {
				t.Errorf("%d events out of order within a ring", late)
			}
		})
	}
	const sched = "sched:sched_switch,sched:sched_wakeup"
	f("small rings", both, "-a", "-m", "2", "-e", sched)
	f("compressed", both, "-a", "-z", "-e", sched+",cpu-clock")
	f("per thread", load, "--per-thread", "-d", "-T", "--sample-cpu", "-e", sched)
	f("other clock", both, "-a", "-k", "mono", "--switch-events", "--namespaces", "-e", sched)
	f("everything sampled", both, "-a", "-g", "-d", "--phys-data", "--weight", "--data-page-size", "--intr-regs",
		"--user-regs=ax,bx", "--buildid-mmap", "-e", "cpu-clock,"+sched)
	f("user stacks", load, "--call-graph", "dwarf,512", "-e", "cpu-clock,page-faults", "--sample-cpu")
	f("synthesized at the end", both, "-a", "--tail-synthesize", "--overwrite", "-e", sched)
	f("pipe", both, "-o", "-", "-a", "-e", sched)
}

// perfRecords records; false if perf script cannot read perf's own
// recording: it breaks off over symbols of BPF programs that others load
// and unload meanwhile.
func perfRecords(t *testing.T, path, script string, args ...string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "perf",
		append(append([]string{"record", "-q", "-B", "-N", "--no-bpf-event", "-o", path}, args...), "--",
			"sh", "-c", script)...)
	if slices.Contains(args, "-") {
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout = out
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("perf record: %v\n%s", err, errs.String())
	}
	errs.Reset()
	read := exec.CommandContext(ctx, "perf", "script", "-i", path, "-F", "time")
	read.Stderr = &errs
	return read.Run() == nil || !strings.Contains(errs.String(), "failed to process type: 17")
}

func reopen(t *testing.T, path string) *File {
	f, err := Open(path, Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
