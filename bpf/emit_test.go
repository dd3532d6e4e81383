package bpf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/event/eventtest"
	"ppscript/runtime/expr"
	"ppscript/runtime/source/perf"
	"ppscript/tests/testkit"
)

// sending opens the events of p on CPUs, with programs that send them for this
// process.
func sending(t *testing.T, h *Host, p *Part, cfg perf.Config) (*perf.Source, *load.Run) {
	t.Helper()
	target := &Target{PIDs: []int{os.Getpid()}}
	im, err := Generate(p, h, target)
	if err != nil {
		t.Fatal(err)
	}
	run, err := load.Open(&im.Image)
	if err != nil {
		t.Fatalf("%v\n%s\n%v", err, logOf(err), im.Programs[0].Ins)
	}
	for i, e := range p.Events {
		cfg.Events = append(cfg.Events, perf.EventConfig{
			Schema: e.Schema, Label: e.Label, Projection: im.Projection(i),
		})
	}
	cfg.Clock = perf.ClockMonotonic
	cfg.Programs = perf.Programs{
		Buffer: run.Buffer,
		Attach: func(int) error { return errors.Join(run.Attach(target), load.Begin(run)) },
		Detach: run.Stop,
		Wake:   run.Wake,
		Untold: run.Untold,
		Late:   run.Late,
	}
	src, err := perf.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(errors.Join(err, run.Close()))
	}
	t.Cleanup(func() {
		if err := errors.Join(src.Close(), run.Close()); err != nil {
			t.Error(err)
		}
	})
	return src, run
}

// fieldsOf are fields of a schema by name.
func fieldsOf(t *testing.T, s *event.Schema, names ...string) []*expr.Field {
	t.Helper()
	var fields []*expr.Field
	for _, name := range names {
		f, ok := s.Field(name)
		if !ok {
			t.Fatalf("no field %s", name)
		}
		fields = append(fields, &expr.Field{F: f})
	}
	return fields
}

// stopped calls fn for all that is left when the source has been stopped.
func stopped(t *testing.T, src *perf.Source, fn func(*event.Event)) {
	t.Helper()
	if err := src.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := src.Poll(context.Background(), 0); err != io.EOF {
		t.Fatal(err)
	}
	count(src, fn)
}

// TestProjection checks that sent fields are at their places in the event's own record, by the raw
// way and the general one; the predicate has been checked, and the sample members of the sample are
// there.
func TestProjection(t *testing.T) {
	h, fs := live(t)
	exit, enter := schemaOf(t, fs, "raw_syscalls", "sys_exit"),
		schemaOf(t, fs, "syscalls", "sys_enter_sched_getaffinity")
	mine := node(t, exit, fmt.Sprintf("id == %d", unix.SYS_GETPPID))
	odd := node(t, enter, "len / 3 * 3 == len")
	part := recordsOf([]*Event{{Schema: exit, Label: "exit", Filter: mine}, {Schema: enter, Label: "enter"}},
		[]*Record{
			{Fields: fieldsOf(t, exit, "id", "ret", "nr_running")},
			{Fields: fieldsOf(t, enter, "pid", "len", "common_pid")},
		}, nil, []expr.Node{odd})
	src, run := sending(t, h, part, perf.Config{Pages: 64})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid, from := unix.Gettid(), 1000
	for i := range 300 {
		unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(from+i), uintptr(i), 0)
	}
	calls, next, last := 0, 0, event.Time(0)
	var times []event.Time
	stopped(t, src, func(e *event.Event) {
		field := func(name string) int64 {
			f, _ := e.Stream.Schema.Field(name)
			v, ok := f.Int(e)
			if !ok {
				t.Fatalf("no field %s", name)
			}
			return v
		}
		if e.TID != int32(tid) {
			return
		}
		times = append(times, e.Time)
		if e.Stream.Label == "exit" {
			if calls++; field("id") != unix.SYS_GETPPID || field("ret") != int64(os.Getppid()) ||
				field("nr_running") < 1 || field("nr_running") > 10000 {
				t.Fatalf("got id %d, ret %d, nr_running %d", field("id"), field("ret"), field("nr_running"))
			}
			return
		}
		if field("len") != int64(next) || field("pid") != int64(from+next) ||
			field("common_pid") != int64(tid) || e.PID != int32(os.Getpid()) {
			t.Fatalf("got len %d, pid %d, common_pid %d of process %d, want %d", field("len"), field("pid"),
				field("common_pid"), e.PID, next)
		}
		next += 3
	})
	if calls != 300 || next != 300 {
		l, err := run.Loss()
		t.Errorf("got %d calls and %d, want 300 of both; lost %+v %v", calls, next, l.Joins, err)
	}
	slices.Sort(times)
	for _, at := range times {
		if at < last || at == 0 {
			t.Fatal("got no times")
		}
		last = at
	}
	if l, err := run.Loss(); err != nil || l.Joins.Errors != 0 {
		t.Errorf("got %+v, %v, want no loss", l.Joins, err)
	}
}

// A whole record has its texts, also the dynamic ones.
func TestProjectionWhole(t *testing.T) {
	h, fs := live(t)
	exec, comm := schemaOf(t, fs, "sched", "sched_process_exec"), schemaOf(t, fs, "task", "task_rename")
	var events []*Event
	var records []*Record
	for _, s := range []*event.Schema{exec, comm} {
		events, records = append(events, &Event{Schema: s, Label: s.Name}),
			append(records, &Record{Whole: true, Fields: fieldsOf(t, s, "nr_running")})
	}
	part := recordsOf(events, records)
	src, _ := sending(t, h, part, perf.Config{Pages: 64})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	name, _ := unix.BytePtrFromString("renamed")
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(ptr(name)), 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	seen := false
	stopped(t, src, func(e *event.Event) {
		if e.Stream.Schema != comm || e.TID != int32(unix.Gettid()) {
			return
		}
		to, _ := comm.Field("newcomm")
		pid, _ := comm.Field("common_pid")
		runs, _ := comm.Field("nr_running")
		n, _ := pid.Int(e)
		r, ok := runs.Int(e)
		if string(to.Text(e)) == "renamed" && n == int64(unix.Gettid()) && ok && r > 0 {
			seen = true
		}
	})
	if !seen {
		t.Error("got no record of the new name")
	}
}

// TestProjectionConforms checks that records of programs are a source like all others.
func TestProjectionConforms(t *testing.T) {
	h, fs := live(t)
	exit, enter := schemaOf(t, fs, "raw_syscalls", "sys_exit"), schemaOf(t, fs, "raw_syscalls", "sys_enter")
	eventtest.Run(t, eventtest.Suite{
		Open: func(t *testing.T) event.Source {
			var events []*Event
			var records []*Record
			for _, s := range []*event.Schema{exit, enter} {
				events = append(events, &Event{
					Schema: s,
					Label:  s.Name,
					Filter: node(t, s, fmt.Sprintf("id == %d", unix.SYS_GETPPID)),
				})
				records = append(records, &Record{Fields: fieldsOf(t, s, "id")})
			}
			part := recordsOf(events, records)
			src, _ := sending(t, h, part, perf.Config{
				Pages: 2, SideBand: perf.SideBand{Comm: true, Task: true},
			})
			calls(400) // so that there is something, and a loss
			return src
		},
		Polls:    4,
		Apart:    true,
		Activity: func() { calls(70) },
		Least:    100,
	})
}

// tiny sends getppid's results through buffers of 4 KiB.
func tiny(t *testing.T) (*perf.Source, *load.Run) {
	t.Helper()
	h, fs := live(t)
	exit := schemaOf(t, fs, "raw_syscalls", "sys_exit")
	getppid := node(t, exit, fmt.Sprintf("id == %d", unix.SYS_GETPPID))
	part := recordsOf([]*Event{{Schema: exit, Label: "exit", Filter: getppid}},
		[]*Record{{Fields: fieldsOf(t, exit, "ret")}})
	return sending(t, h, part, perf.Config{Pages: 1})
}

// TestProjectionLoss checks that records that do not fit into the ring are counted there, once.
func TestProjectionLoss(t *testing.T) {
	src, run := tiny(t)
	const n = 5000
	calls(n)
	if err := src.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := src.Poll(context.Background(), time.Second); err != io.EOF {
		t.Fatal(err)
	}
	seen, lost := 0, 0
	evs := make([]event.Event, 64)
	for _, r := range src.Rings() {
		_, visible := r.Bounds()
		for r.Pos() < visible {
			for i := range r.Read(evs, visible) {
				switch evs[i].Kind {
				case event.Sample:
					seen++
				case event.Lost:
					lost += int(evs[i].Count)
				}
			}
		}
		r.Release()
	}
	l, err := run.Loss()
	// Where programs can be preempted, others' system calls are missed meanwhile,
	// or ours while theirs are looked at.
	missed := int(l.Joins.Lost)
	if err != nil || seen+lost > n || seen+lost+missed < n || seen == 0 || lost == 0 {
		t.Errorf("got %d events and %d lost, %d in programs (%v), want %d in all", seen, lost,
			l.Joins.Lost, err, n)
	}
}

// The end of a process, or of a thread, is the end of a source to which only
// programs send; until then it goes on.
func TestProjectionEnds(t *testing.T) {
	h, fs := live(t)
	exit := schemaOf(t, fs, "raw_syscalls", "sys_exit")
	for name, target := range map[string]func(pid int) perf.Target{
		"process": func(pid int) perf.Target { return perf.Target{PIDs: []int{pid}} },
		"thread":  func(pid int) perf.Target { return perf.Target{TIDs: []int{pid}} },
	} {
		t.Run(name, func(t *testing.T) {
			sleeper := testkit.Start(t, "sleep", "60")
			part := recordsOf([]*Event{{Schema: exit, Label: "exit"}},
				[]*Record{{Fields: fieldsOf(t, exit, "id")}})
			src, _ := sending(t, h, part, perf.Config{Target: target(sleeper.PID())})
			for range 3 {
				if err := src.Poll(t.Context(), 10*time.Millisecond); err != nil {
					t.Fatalf("got %v while it runs", err)
				}
			}
			sleeper.Signal(unix.SIGKILL)
			sleeper.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for {
				if err := src.Poll(ctx, time.Second); err == io.EOF {
					return
				} else if err != nil {
					t.Fatalf("got %v, want the end", err)
				}
			}
		})
	}
}

// TestProjectionLossInOrder checks that losses are told before the records behind them, and
// programs wake the reader when the buffer is half full, not before.
func TestProjectionLossInOrder(t *testing.T) {
	src, _ := tiny(t)
	kinds := ""
	look := func() {
		if err := src.Poll(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		evs := make([]event.Event, 64)
		for _, r := range src.Rings() {
			_, visible := r.Bounds()
			for r.Pos() < visible {
				for _, e := range evs[:r.Read(evs, visible)] {
					if k := string("SL"[event.Bit(e.Kind == event.Lost)]); !strings.HasSuffix(kinds, k) {
						kinds += k
					}
				}
			}
			r.Release()
		}
	}
	woken := func() uint64 { return src.Stats().Wakeups }
	calls(4096/2/48 - 5)
	if err := src.Poll(t.Context(), 0); err != nil || woken() != 0 {
		t.Errorf("got %d wake-ups below the mark (%v)", woken(), err)
	}
	calls(300)
	look()
	if woken() == 0 || kinds != "S" {
		t.Errorf("got %d wake-ups, %s, want one, and events", woken(), kinds)
	}
	calls(5)
	look()
	if kinds != "SLS" {
		t.Errorf("got %s, want the loss in the middle", kinds)
	}
}

func ptr(b *byte) unsafe.Pointer { return unsafe.Pointer(b) }

// A sleeping reader is woken by the first record, and then again only by a buffer that fills.
func TestFirstRecordWakesWhoSleeps(t *testing.T) {
	h, fs := live(t)
	enter := schemaOf(t, fs, "syscalls", "sys_enter_sched_getaffinity")
	part := recordsOf([]*Event{{Schema: enter, Label: "enter", Filter: node(t, enter, "len == 12345")}},
		[]*Record{{Fields: fieldsOf(t, enter, "len")}}, nil, nil)
	src, _ := sending(t, h, part, perf.Config{Pages: 64})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 3 {
		for tries := 0; !src.Idle(); tries++ {
			if err := src.Poll(t.Context(), time.Millisecond); err != nil || tries == 10_000 {
				t.Fatalf("got %v, want a source that sleeps", err)
			}
			count(src, func(*event.Event) {})
		}
		// The call comes once this thread sleeps.
		reader, called := unix.Gettid(), make(chan error, 1)
		go func() {
			err := testkit.AwaitSleep(reader)
			unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, 0, 12345, 0)
			called <- err
		}()
		// Without the record it would sleep for a minute.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := src.Poll(ctx, time.Minute)
		cancel()
		if err != nil {
			t.Fatalf("got %v, want a record that wakes who sleeps", err)
		}
		if err := <-called; err != nil {
			t.Fatal(err)
		}
		n := 0
		for tries := 0; n == 0 && tries < 1000; tries++ {
			if err := src.Poll(t.Context(), time.Millisecond); err != nil {
				t.Fatal(err)
			}
			count(src, func(*event.Event) { n++ })
		}
		if n != 1 {
			t.Errorf("got %d records, want one", n)
		}
	}
}
