package walk_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/bpf/walk"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/unwind"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/target/task"
	"ppscript/tests/testkit"
)

// compile builds the program of testdata, with its libraries.
func compile(t testing.TB) (program string) {
	t.Helper()
	testkit.Requires(t, testkit.GXX)
	dir := t.TempDir()
	flags := []string{"-O2", "-fomit-frame-pointer", "-Wl,-rpath," + dir, "-L" + dir}
	for _, args := range [][]string{
		{"-fPIC", "-shared", "testdata/inner.cc", "-o", filepath.Join(dir, "libinner.so")},
		{"-fPIC", "-shared", "-mavx", "testdata/outer.cc", "-linner", "-o",
			filepath.Join(dir, "libouter.so")},
		{"testdata/main.cc", "-louter", "-linner", "-lpthread", "-o", filepath.Join(dir, "main")},
	} {
		args = append(slices.Clone(flags), args...)
		if text, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
			t.Fatalf("g++ %v: %v\n%s", args, err, text)
		}
	}
	return filepath.Join(dir, "main")
}

// start starts the program, and returns its process once all of it is called. It ends with the test.
func start(t testing.TB, program string) int {
	t.Helper()
	cmd := exec.Command(program)
	in, out := testkit.StartPiped(t, cmd)
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v, want that the program is ready", line, err)
	}
	return cmd.Process.Pid
}

var clock = &event.Schema{
	System: "software", Name: "cpu-clock", Type: unix.PERF_TYPE_SOFTWARE, ID: unix.PERF_COUNT_SW_CPU_CLOCK,
}

// programs loads the program that counts the ticks of a process by their user stacks. It keeps the
// samples, for comparison.
func programs(t testing.TB, pid int) *load.Run {
	t.Helper()
	return walking(t, pid, true)
}

// walking is programs, by tables or by frame pointers.
func walking(t testing.TB, pid int, tables bool) *load.Run {
	t.Helper()
	host, err := features.Find(kernel.Roots{}, false)
	testkit.Requires(t, testkit.Root, testkit.Core("bpf", err))
	if !host.Tables() {
		testkit.Requires(t, testkit.Optional("programs that walk stacks by tables", errors.ErrUnsupported))
	}
	p, err := cexpr.Compile("stack", &expr.Scope{Schema: clock})
	if err != nil {
		t.Fatal(err)
	}
	key := flow.NewFn([]*expr.Program{expr.Build(p.Node)}, 0)
	count := &agg.Spec{Aggs: []agg.Agg{{Op: agg.Count}}, Args: []agg.Arg{{}}, Keys: []*flow.Fn{key},
		Limit: 1 << 15}
	im, err := bpf.Generate(&bpf.Part{
		Events: []*bpf.Event{{Schema: clock, Sampled: true, Label: "ticks",
			Stack: &bpf.StackSpec{User: true, Max: 127, Tables: tables}}},
		Edges: []*bpf.Edge{{Group: count}},
	}, host, &bpf.Target{PIDs: []int{pid}})
	if err != nil {
		t.Fatal(err)
	}
	ins := im.Programs[0].Ins
	// The program's last instructions are R0 = 0 and the end; routines follow.
	end := slices.IndexFunc(ins[1:], func(in asm.Instruction) bool { return in.Symbol() != "" })
	ins[end-1] = asm.Mov.Imm(asm.R0, 1)
	run, err := load.Open(&im.Image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
	return run
}

// Verifiers follow few instructions: that of Linux 7.3 once followed each path through the searches by
// itself, 392,000 instructions, and the program took half a minute to load.
func TestVerifiersFollowFewPaths(t *testing.T) {
	run := programs(t, 0)
	fd, err := unix.FcntlInt(uintptr(run.FD(0)), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ebpf.NewProgramFromFD(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := info.VerifiedInstructions(); !ok || n > 20_000 {
		t.Errorf("got %d instructions, %t, want 20,000 at most", n, ok)
	}
}

// stacks are how often each stack was counted.
func stacks(t testing.TB, run *load.Run) map[string]int {
	t.Helper()
	var names []string
	counts := map[string]int{}
	err := run.Rows(func(s *load.Stack) uint64 {
		names = append(names, fmt.Sprintf("%x", s.User))
		return uint64(len(names))
	}, func(_ *agg.Spec, p *agg.Partial) {
		if n := binary.LittleEndian.Uint64([]byte(p.Key)); n > 0 {
			counts[names[n-1]] += int(p.Hits)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// Of the same samples, programs find the stacks that are found in copies of the stack's memory,
// which are the debugger's (package unwind).
func TestWalksEqualCopies(t *testing.T) {
	pid := start(t, compile(t))
	run := programs(t, pid)
	l, err := walk.Preload(run, walk.Observed{PIDs: []int{pid}})
	if err != nil {
		t.Fatal(err)
	}
	target := perf.Target{PIDs: []int{pid}}
	if err := errors.Join(run.Attach(&bpf.Target{PIDs: []int{pid}}), load.Begin(run)); err != nil {
		t.Fatal(err)
	}
	src, err := perf.Open(context.Background(), perf.Config{
		Target: target, Pages: 1024, Spool: 256 << 20, Clock: perf.ClockMonotonic,
		SideBand: perf.SideBand{Mmap: true, Comm: true, Task: true},
		Members:  []event.Member{event.MemberTID},
		Events: []perf.EventConfig{{Schema: clock, Freq: 1500, Program: run.Sampled(0), Payload: perf.Payload{
			RegsUser: unwind.Mask(0), StackUser: 60 << 10}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	maps := task.NewMappings(task.MappingsOptions{})
	defer maps.Close()
	u := unwind.New(unwind.Options{Maps: maps, Max: 127})
	want := map[string]int{}
	samples, whole := 0, 0
	merge := order.NewMerge(src)
	take := func(events []*event.Event) {
		for _, e := range events {
			if e.Kind != event.Sample {
				maps.Record(e)
				continue
			}
			addrs, how := u.Sample(nil, e)
			samples++
			if how.Whole() {
				whole++
			}
			want[fmt.Sprintf("%x", addrs)]++
		}
	}
	const least = 1000
	for end := time.Now().Add(time.Minute); samples < least && time.Now().Before(end); {
		if err := src.Poll(context.Background(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		merge.Round(take, false)
	}
	if err := src.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := run.Stop(); err != nil {
		t.Fatal(err)
	}
	merge.Round(take, true)
	stats, err := l.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got := stacks(t, run)
	equal, all, shown := 0, 0, 0
	for stack, n := range want {
		equal += min(n, got[stack])
		all += n
		if n > got[stack] && shown < 5 {
			shown++
			t.Logf("found %d times in copies, %d times by programs: %s", n, got[stack], stack)
		}
	}
	shown = 0
	for stack, n := range got {
		if n > want[stack] && shown < 5 {
			shown++
			t.Logf("found %d times by programs, %d times in copies: %s", n, want[stack], stack)
		}
	}
	t.Logf("%d of %d stacks are equal, %d of copies are whole; %v", equal, all, whole, stats)
	if all < least || equal*100 < all*99 {
		t.Errorf("got %d of %d stacks that are equal, want 99 %% of %d at least", equal, all, least)
	}
	if stats.Stops[load.WalkEnd]*100 < stats.Stacks*99 {
		t.Errorf("got %v, want 99 %% whole", stats)
	}
}

// The tables of a process that begins later are read when a program asks for them.
func TestLaterProcesses(t *testing.T) {
	program := compile(t)
	run := programs(t, 0)
	l, err := walk.Preload(run, walk.Observed{Command: program})
	if err != nil {
		t.Fatal(err)
	}
	pid := start(t, program)
	if err := load.Begin(run); err != nil {
		t.Fatal(err)
	}
	hooks, err := perf.OpenHooks(context.Background(), perf.Config{
		Target: perf.Target{PIDs: []int{pid}},
		Events: []perf.EventConfig{{Schema: clock, Freq: 500, Program: run.Sampled(0)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer hooks.Close()
	var s walk.LoaderStats
	for end := time.Now().Add(time.Minute); s.Stops[load.WalkEnd] < 100 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
		if s, err = l.Stats(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Stops[load.WalkEnd] < 100 || s.Pointers == 0 || s.Processes == 0 || s.Full > 0 {
		t.Errorf("got %v, want first stacks by frame pointers, then whole ones by tables", s)
	}
	if told, err := l.End(true); err != nil || len(told) == 0 {
		t.Errorf("got %q, %v, want what there is to know", told, err)
	}
}
