package perf

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// forkRing is a ring that holds FORK records of (time, parent, child).
func forkRing(size int, forks ...[3]uint32) *ring {
	var b []byte
	for _, f := range forks {
		rec := make([]byte, forkSize)
		binary.LittleEndian.PutUint32(rec, unix.PERF_RECORD_FORK)
		binary.LittleEndian.PutUint16(rec[6:], forkSize)
		for i, v := range []uint32{f[2], f[1], f[2], f[1]} {
			binary.LittleEndian.PutUint32(rec[8+4*i:], v)
		}
		binary.LittleEndian.PutUint64(rec[24:], uint64(f[0]))
		b = append(b, rec...)
	}
	head := uint64(len(b))
	return &ring{memory: memory{
		data: append(b, make([]byte, size-len(b))...), page: &unix.PerfEventMmapPage{Data_head: head},
	}}
}

// The FORK record of a grandchild may be in a ring that is read before the ring
// with its parent's.
func TestFamilyFollowsForksOverRings(t *testing.T) {
	f := &family{tids: map[int32]bool{1: true}}
	rings := []*ring{
		forkRing(256, [3]uint32{20, 2, 3}, [3]uint32{40, 3, 4}),
		forkRing(256, [3]uint32{10, 1, 2}, [3]uint32{30, 9, 10}),
	}
	f.learn(rings)
	for tid, want := range map[int32]bool{1: true, 2: true, 3: true, 4: true, 9: false, 10: false} {
		if got := f.mine(0, tid); got != want {
			t.Errorf("thread %d: got %v, want %v", tid, got, want)
		}
	}
	// The number of a task that ended is reused by an unobserved task.
	f.learn([]*ring{forkRing(64, [3]uint32{50, 9, 3})})
	if f.mine(0, 3) {
		t.Error("thread 3: got ours, want a stranger's")
	}
	if rings[0].looked != 64 {
		t.Errorf("got looked %d, want 64", rings[0].looked)
	}
}

func TestFamilyOfProcesses(t *testing.T) {
	f := &family{pids: []int32{7}}
	f.learn([]*ring{forkRing(64, [3]uint32{1, 7, 8})})
	if !f.mine(7, 9) || f.mine(8, 8) {
		t.Error("got other than all threads of process 7 and no child")
	}
}

// At a damaged record the look ends; it does not loop.
func TestForksOfDamagedRing(t *testing.T) {
	r := forkRing(64, [3]uint32{1, 1, 2})
	binary.LittleEndian.PutUint16(r.data[6:], 0)
	if got := r.forked(nil); got != nil || r.looked != 0 {
		t.Errorf("got %v at %d, want nothing", got, r.looked)
	}
}

func TestProbesAreNotInherited(t *testing.T) {
	c := Config{Events: []EventConfig{{
		Schema: &event.Schema{}, EventAttr: EventAttr{Config1Text: "/bin/true"},
	}}}
	a := &attachment{mode: "workload", inherit: true, places: []place{{pid: 5, cpu: 0}, {pid: 5, cpu: 1}}}
	c.noInherit(a, []int{0, 1})
	if a.inherit || len(a.places) != 2 || a.places[1].pid != -1 || a.places[1].cpu != 1 ||
		!a.family.tids[5] || !c.SideBand.Task {
		t.Errorf("got %+v, family %+v, want CPUs and the family of thread 5", a, a.family)
	}
	plain := Config{Events: []EventConfig{{Schema: &event.Schema{}}}}
	b := &attachment{mode: "workload", inherit: true}
	if plain.noInherit(b, []int{0}); !b.inherit || b.family != nil {
		t.Errorf("got %+v, want events without probes inherited", b)
	}
}
