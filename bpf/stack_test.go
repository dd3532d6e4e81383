package bpf

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/stack"
	"ppscript/tests/testkit"
)

// TestStacks checks that calls have the stack that led to them, in the kernel and in this test.
func TestStacks(t *testing.T) {
	testkit.Requires(t, testkit.BTF)
	h, fs := live(t)
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	const most = 64
	once := func(spec StackSpec) (found []load.Stack, counts map[uint64]uint64) {
		t.Helper()
		getppid := node(t, enter, fmt.Sprintf("id == %d", unix.SYS_GETPPID))
		r := start(t, h, partOf([]*Event{{Schema: enter, Label: "enter", Filter: getppid, Stack: &spec}},
			&Edge{Group: counted(node(t, enter, "stack"))}))
		calls(1000)
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		counts = map[uint64]uint64{}
		err := r.Rows(func(s *load.Stack) uint64 {
			c := *s
			c.Kernel, c.User = append([]uint64(nil), s.Kernel...), append([]uint64(nil), s.User...)
			found = append(found, c)
			return uint64(len(found))
		}, func(_ *agg.Spec, p *agg.Partial) { counts[uint64(p.Key[0])] += p.Hits })
		if err != nil {
			t.Fatal(err)
		}
		return found, counts
	}
	// The kernel's way to a tracepoint's programs changes when another tracer
	// comes to it or leaves: calls around such a moment have two stacks.
	run := func(spec StackSpec) (found []load.Stack, counts map[uint64]uint64) {
		t.Helper()
		for range 20 {
			if found, counts = once(spec); len(found) == 1 {
				break
			}
		}
		return found, counts
	}
	within := func(s *load.Stack) bool {
		for _, pc := range s.User {
			if f := runtime.FuncForPC(uintptr(pc)); f != nil && strings.Contains(f.Name(), "TestStacks") {
				return true
			}
		}
		return false
	}
	found, counts := run(StackSpec{Kernel: true, User: true, Max: most})
	if len(found) != 1 || counts[1] != 1000 {
		t.Fatalf("got %d stacks, %v times, want one, 1000 times", len(found), counts)
	}
	if s := &found[0]; int(s.PID) != os.Getpid() || len(s.Kernel) == 0 || !within(s) || s.Max != most ||
		s.Time <= 0 || s.Time > load.Now() {
		t.Errorf("got %+v, want the stack of the test", s)
	}
	full := found[0]
	found, counts = run(StackSpec{User: true, Max: most})
	if len(found) != 1 || counts[1] != 1000 || len(found[0].Kernel) != 0 ||
		len(found[0].User) != len(full.User) {
		t.Errorf("got %+v, %v, want the user part alone", found, counts)
	}
	found, counts = run(StackSpec{Kernel: true, Max: most})
	if len(found) != 1 || counts[1] != 1000 || found[0].PID != -1 || len(found[0].User) != 0 ||
		len(found[0].Kernel) == 0 ||
		found[0].Kernel[len(found[0].Kernel)-1] != full.Kernel[len(full.Kernel)-1] {
		t.Errorf("got %+v, %v, want the kernel's part alone", found, counts)
	}
	short := len(full.Kernel) + 1
	found, counts = run(StackSpec{Kernel: true, User: true, Max: short})
	if len(found) != 1 || counts[1] != 1000 || len(found[0].Kernel)+len(found[0].User) != short {
		t.Errorf("got %+v, %v, want %d addresses", found, counts, short)
	}
	// Numbers of stacks depend on their addresses.
	table := stack.New(stack.Options{})
	a := table.Number(full.PID, full.Image, full.Time, full.Kernel, full.User, most)
	b := table.Number(full.PID, full.Image, full.Time+1, full.Kernel, full.User, most)
	c := table.Number(full.PID, full.Image+1, full.Time, full.Kernel, full.User, most)
	if got, ok := table.At(a); a != b || a == c || !ok || got.PID != full.PID || got.Cut ||
		len(got.Chain) != len(full.Kernel)+len(full.User)+2 {
		t.Errorf("got stacks %d, %d, %d of %+v, want the first two to be one", a, b, c, got)
	}
}
