package bpf

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/bpf/state"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
)

// TestSlotsAreShared checks that most keys share their slot with others, and on each CPU another of
// them takes it; all are counted, once, in each interval. CPUs are 0 and 1.
func TestSlotsAreShared(t *testing.T) {
	h, fs := live(t)
	enter := schemaOf(t, fs, "raw_syscalls", "sys_enter")
	const keys = 5 * state.RowSlots
	first, second := node(t, enter, "args[0]"), node(t, enter, "args[1]")
	last, err := expr.NewExt(second, 8, false)
	if err != nil {
		t.Fatal(err)
	}
	pair, one, comm := counted(first, last), counted(first), counted(node(t, enter, "_comm"), first)
	none := counted()
	groups := []*agg.Spec{pair, one, comm, none}
	p := partOf([]*Event{{Schema: enter, Label: "enter"}})
	getppid := node(t, enter, fmt.Sprintf("id == %d", unix.SYS_GETPPID))
	for _, g := range groups {
		p.Edges = append(p.Edges, &Edge{Group: g, Preds: predsOf(getppid)})
	}
	p.Intervals = true
	run := start(t, h, p)
	cpus := min(2, runtime.NumCPU())
	// In the first interval all keys come, in the second one only some, the last ones first.
	for interval, count := range []int{keys, keys / 3} {
		for cpu := range cpus {
			callsOn(t, cpu, count, (cpu+interval)%2 == 1)
			callsOn(t, cpu, count, (cpu+interval)%2 == 1)
		}
		if interval == 1 {
			if err := run.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		got := map[*agg.Spec]*agg.Group{}
		parts := map[*agg.Spec]int{}
		for _, g := range groups {
			got[g] = agg.New(*g)
		}
		err := run.Rows(nil, func(of *agg.Spec, p *agg.Partial) {
			got[of].AddPartial(p)
			parts[of]++
		})
		if err != nil {
			t.Fatal(err)
		}
		for n, g := range groups {
			want, each := count, int64(2*cpus)
			if g == none {
				want, each = 1, each*int64(count)
			}
			if got[g].Len() != want || parts[g] != want*cpus {
				t.Errorf("interval %d, group %d: got %d rows of %d parts, want %d of %d", interval, n,
					got[g].Len(), parts[g], want, want*cpus)
			}
			for _, row := range got[g].Rows() {
				if row[len(row)-1].Int() != each {
					t.Fatalf("interval %d, group %d: got %v, want a count of %d", interval, n, row, each)
				}
			}
		}
	}
	loss, err := run.Loss()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if now := loss.Groups[g]; now.Evicted+now.Errors != 0 {
			t.Errorf("got losses %+v, want none", now)
		}
	}
}

// callsOn calls getppid on a CPU with each of so many keys, or with the last ones first. The
// kernel ignores them.
func callsOn(t *testing.T, cpu, keys int, back bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, set unix.CPUSet
	set.Set(cpu)
	if err := errors.Join(unix.SchedGetaffinity(0, &old), unix.SchedSetaffinity(0, &set)); err != nil {
		t.Fatalf("move to CPU %d: %v", cpu, err)
	}
	defer unix.SchedSetaffinity(0, &old)
	for i := range keys {
		k := uintptr(i)
		if back {
			k = uintptr(keys-1) - k
		}
		unix.RawSyscallNoError(unix.SYS_GETPPID, k<<6, k, 0)
	}
}
