package bpf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/source/perf"
	"ppscript/tests/testkit"
)

// spin keeps n threads busy on CPU 0 until the test ends, and returns when all
// run there.
func spin(t *testing.T, n int) {
	t.Helper()
	var stop atomic.Bool
	// Go lets no more threads run at once than that.
	old := runtime.GOMAXPROCS(n + 4)
	ready, done := make(chan error, n), make(chan bool, n)
	for range n {
		go func() {
			defer func() { done <- true }()
			// Not unlocked: the thread ends with its affinity.
			runtime.LockOSThread()
			var set unix.CPUSet
			set.Set(0)
			ready <- unix.SchedSetaffinity(0, &set)
			for !stop.Load() {
			}
		}()
	}
	t.Cleanup(func() {
		stop.Store(true)
		for range n {
			<-done
		}
		runtime.GOMAXPROCS(old)
	})
	for range n {
		if err := <-ready; err != nil {
			t.Fatal(err)
		}
	}
}

// filtered loads a program for the samples of a schema.
func filtered(t *testing.T, h *Host, s *event.Schema, text string) int {
	t.Helper()
	im, err := SampleFilter("test", []expr.Node{node(t, s, text)}, h)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	r, err := load.Open(&im.Image)
	if err != nil {
		t.Fatalf("%s: %v\n%s", text, err, logOf(err))
	}
	t.Cleanup(func() { r.Close() })
	return r.FD(0)
}

// sampled counts the samples of this process on CPU 0 for each condition, the
// first of which must not be empty, until there are n of the first.
func sampled(t *testing.T, h *Host, n int, conditions ...string) []int {
	t.Helper()
	clock, err := perf.SoftwareSchema("cpu-clock")
	if err != nil {
		t.Fatal(err)
	}
	cfg := perf.Config{Target: perf.Target{CPUs: []int{0}}, Pages: 16, Watermark: 10}
	for _, text := range conditions {
		ev := perf.EventConfig{Schema: clock, Period: 1e6}
		if text != "" {
			ev.Program = filtered(t, h, clock, text)
		}
		cfg.Events = append(cfg.Events, ev)
	}
	src, err := perf.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	counts := make([]int, len(conditions))
	for end := time.Now().Add(20 * time.Second); counts[0] < n; {
		if time.Now().After(end) {
			t.Fatalf("got %d samples of %q, want %d", counts[0], conditions[0], n)
		}
		if err := src.Poll(context.Background(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		count(src, func(e *event.Event) {
			if e.PID == int32(os.Getpid()) {
				counts[e.Stream.Index]++
			}
		})
	}
	return counts
}

// TestNrRunning checks that while three threads want CPU 0, the thread that runs there sees three
// or more.
func TestNrRunning(t *testing.T) {
	h, _ := live(t)
	spin(t, 3)
	got := sampled(t, h, 50, "nr_running >= 3", "nr_running < 3", "nr_running >= 3 && nr_running < 1000",
		"nr_running > 1000")
	// Every event has a timer of its own; Go's collector stops ours for a moment.
	if got[2] < got[0]/2 || got[1] > got[0]/5 || got[3] != 0 {
		t.Errorf(
			"got %v samples for 3 or more, for fewer, for 3 to 999, for more than 1000; want all, few, all, none",
			got)
	}
}

func TestTaskOfMoment(t *testing.T) {
	h, _ := live(t)
	spin(t, 1)
	// A nice thread has another priority; the system call returns 20 less it.
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	prio := 120 + 20 - nice
	got := sampled(t, h, 50, fmt.Sprintf("sched_policy == 0 && prio == %d", prio),
		fmt.Sprintf("sched_policy != 0 || prio != %d", prio), "pid > 0", "pid == 0",
		"irqs_disabled == 0", "irqs_disabled")
	// A timer cannot interrupt where interrupts are disabled.
	for i, n := range got {
		if i%2 == 0 && n < got[0]/2 || i%2 == 1 && n != 0 {
			t.Errorf("got %v, want all and none in turn", got)
		}
	}
}

// The kernel counts a task's switches where interrupts are disabled: a
// breakpoint on the counter sees just that.
func TestIRQsDisabled(t *testing.T) {
	testkit.Requires(t, testkit.BTF, testkit.Breakpoints)
	h, _ := live(t)
	off, ok := h.Member("task_struct", "nvcsw")
	if !ok {
		t.Fatal("the kernel's types have no nvcsw of a task")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	address := currentTask(t) + uint64(off)
	watch := &event.Schema{System: "breakpoint", Name: "nvcsw", Type: unix.PERF_TYPE_BREAKPOINT}
	cfg := perf.Config{Target: perf.Target{TIDs: []int{unix.Gettid()}}}
	for _, text := range []string{"irqs_disabled", "!irqs_disabled"} {
		cfg.Events = append(cfg.Events,
			perf.EventConfig{
				Schema: watch, EventAttr: perf.EventAttr{Config1: address, Config2: 8, BPType: 2},
				Period: 1, Program: filtered(t, h, watch, text),
			})
	}
	src, err := perf.Open(context.Background(), cfg)
	testkit.Requires(t, testkit.Core("breakpoints on kernel data", err))
	defer src.Close()
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_THREAD, &before)
	for after.Nvcsw < before.Nvcsw+25 {
		unix.Nanosleep(&unix.Timespec{Nsec: 100000}, nil)
		unix.Getrusage(unix.RUSAGE_THREAD, &after)
	}
	if err := src.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := src.Poll(context.Background(), 0); err != io.EOF {
		t.Fatal(err)
	}
	var counts [2]int
	count(src, func(e *event.Event) { counts[e.Stream.Index]++ })
	if want := int(after.Nvcsw - before.Nvcsw); counts[0] < want || counts[1] != 0 {
		t.Errorf("got %d switches with interrupts disabled and %d without, want %d and 0",
			counts[0], counts[1], want)
	}
}

// count calls fn for the samples that are there.
func count(src *perf.Source, fn func(*event.Event)) {
	evs := make([]event.Event, 64)
	for _, r := range src.Rings() {
		_, visible := r.Bounds()
		for r.Pos() < visible {
			for i := range r.Read(evs, visible) {
				if evs[i].Kind == event.Sample {
					fn(&evs[i])
				}
			}
		}
		r.Release()
	}
}

func counterMap(t *testing.T) *ebpf.Map {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// currentTask is where the kernel keeps the running thread.
func currentTask(t *testing.T) uint64 {
	t.Helper()
	testkit.Requires(t, testkit.Programs)
	m := counterMap(t)
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL",
		Instructions: asm.Instructions{
			asm.FnGetCurrentTask.Call(), asm.LoadMapValue(asm.R1, m.FD(), 0),
			asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord), asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.Run(&ebpf.RunOptions{Context: make([]byte, 96)})
	if err != nil {
		t.Fatal(err)
	}
	var task uint64
	if err := m.Lookup(uint32(0), &task); err != nil {
		t.Fatal(err)
	}
	return task
}

// The task's state that a program reads agrees with the record: a thread that wakes a
// thread of a higher class on its own CPU shall give way, one that wakes one of a
// lower class need not.
func TestNeedResched(t *testing.T) {
	h, fs := live(t)
	wakeup := schemaOf(t, fs, "sched", "sched_wakeup")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, set unix.CPUSet
	set.Set(0)
	if err := errors.Join(unix.SchedGetaffinity(0, &old), unix.SchedSetaffinity(0, &set)); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &old)
	measure := func(policy, priority uint32) (wrong []string) {
		tid, wake := sleeper(t, policy, priority)
		mine := fmt.Sprintf("pid == %d && ", tid)
		flag := node(t, wakeup, "tif_need_resched")
		ours := node(t, wakeup, mine+"_tid == "+fmt.Sprint(unix.Gettid()))
		r := start(t, h, partOf([]*Event{{Schema: wakeup, Label: "wakeup", Filter: ours}},
			&Edge{Group: counted(flag)}))
		src, err := perf.OpenCounters(context.Background(),
			perf.Config{Target: perf.Target{TIDs: []int{unix.Gettid()}}, Events: []perf.EventConfig{
				{Schema: wakeup, Filter: mine + "!(common_flags & 4)"}, {Schema: wakeup, Filter: mine + "common_flags & 4"}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			wake()
		}
		counts, err := src.Read(nil)
		if err = errors.Join(err, r.Stop(), src.Close()); err != nil {
			t.Fatal(err)
		}
		var got [2]uint64
		err = r.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { got[p.Key[0]&1] += p.Hits })
		if err != nil {
			t.Fatal(err)
		}
		want := [2]uint64{counts[0].Value, counts[1].Value}
		t.Logf("policy %d: %v wakeups without and with the flag", policy, got)
		// A thread that has not come to sleep yet is not woken.
		if got != want || got[0]+got[1] == 0 || policy == unix.SCHED_FIFO && got[1] == 0 {
			wrong = append(wrong, fmt.Sprintf(
				"policy %d: got %v wakeups without and with the flag, want %v and some", policy, got, want))
		}
		return wrong
	}
	testkit.Again(t, func() []string { return measure(unix.SCHED_FIFO, 1) })
	testkit.Again(t, func() []string { return measure(unix.SCHED_IDLE, 0) })
}

// sleeper starts a thread of a class on CPU 0; each call of wake wakes it and
// waits until it sleeps again.
func sleeper(t *testing.T, policy, priority uint32) (tid int, wake func()) {
	t.Helper()
	var there, back [2]int
	if err := errors.Join(unix.Pipe2(there[:], unix.O_CLOEXEC),
		unix.Pipe2(back[:], unix.O_CLOEXEC)); err != nil {
		t.Fatal(err)
	}
	ready, done := make(chan error, 1), make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		tid = unix.Gettid()
		var set unix.CPUSet
		set.Set(0)
		ready <- errors.Join(unix.SchedSetaffinity(0, &set),
			unix.SchedSetAttr(0, &unix.SchedAttr{
				Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority,
			}, 0))
		var b [1]byte
		for {
			if n, _ := unix.Read(there[0], b[:]); n == 0 {
				return
			}
			unix.Write(back[1], b[:])
		}
	}()
	t.Cleanup(func() {
		unix.Close(there[1])
		<-done
		for _, fd := range []int{there[0], back[0], back[1]} {
			unix.Close(fd)
		}
	})
	testkit.Requires(t, testkit.Core("threads of other classes", <-ready))
	var b [1]byte
	return tid, func() {
		unix.Write(there[1], b[:])
		unix.Read(back[0], b[:])
	}
}
