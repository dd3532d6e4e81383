package state_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/bpftest"
)

// A targetProgram is an image's program, which a test calls with the arguments of its tracepoint, and the
// memory that stands for the task_struct of a task that is made.
type targetProgram struct {
	t      *testing.T
	loaded *ebpf.Collection
	task   *bpftest.Program
	member int
	// self and thread are this process and its thread as programs see them, whatever namespace it is in.
	self, thread uint32
}

// cloneThread is CLONE_THREAD of sched.h.
const cloneThread = 0x10000

// track loads the only program that keeps a set, and reads a new task's number in a member.
func track(t *testing.T, keeps func(im *load.Image, h *features.Host), member string) *targetProgram {
	t.Helper()
	testkit.Requires(t, testkit.Programs, testkit.Sysfs, testkit.BTF)
	h, err := features.Find(kernel.Roots{}, false)
	if err != nil {
		t.Fatal(err)
	}
	im := &load.Image{}
	keeps(im, h)
	if len(im.Programs) != 1 {
		t.Fatalf("got %d programs, want one", len(im.Programs))
	}
	spec := &ebpf.CollectionSpec{Maps: map[string]*ebpf.MapSpec{}, Programs: map[string]*ebpf.ProgramSpec{
		"tracker": {Type: ebpf.RawTracepoint, Instructions: im.Programs[0].Ins, License: "GPL"},
	}}
	for _, m := range im.Maps {
		spec.Maps[m.ID.String()] = m.Spec
	}
	s := &targetProgram{t: t}
	if s.loaded, err = ebpf.NewCollection(spec); err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(s.loaded.Close)
	at, ok := h.Member("task_struct", member)
	if !ok {
		t.Fatalf("task_struct has no %s", member)
	}
	// The kernel's memory in which a test can write is the memory of a map: a program tells where it lies.
	// It runs in the thread that calls it.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	s.member = at
	b := bpftest.Builder{In: (at + 15) &^ 7, Out: 16}
	s.task = b.Build(t, func(c *assembler.Code, _ assembler.Label) {
		c.MapValue(asm.R1, bpftest.Input, 0)
		c.MapValue(asm.R2, bpftest.Output, 0)
		c.Emit(asm.StoreMem(asm.R2, 0, asm.R1, asm.DWord))
		c.Call(asm.FnGetCurrentPidTgid)
		c.MapValue(asm.R2, bpftest.Output, 0)
		c.Emit(asm.StoreMem(asm.R2, 8, asm.R0, asm.DWord))
	})
	out, _ := s.task.Run(nil)
	s.thread, s.self = binary.NativeEndian.Uint32(out[8:]), binary.NativeEndian.Uint32(out[12:])
	return s
}

// call has this process make a task.
func (s *targetProgram) call(number uint32, flags uint64) {
	s.t.Helper()
	in := make([]byte, (s.member+15)&^7)
	binary.NativeEndian.PutUint32(in[s.member:], number)
	out, ok := s.task.Run(in)
	if !ok {
		s.t.Fatal("the program that tells an address failed")
	}
	args := make([]byte, 96)
	copy(args, out[:8])
	binary.NativeEndian.PutUint64(args[8:], flags)
	if _, err := s.loaded.Programs["tracker"].Run(&ebpf.RunOptions{Context: args}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *targetProgram) mapOf(id load.MapID) *ebpf.Map { return s.loaded.Maps[id.String()] }

// in reports that a set has a number.
func (s *targetProgram) in(id load.MapID, number uint32) bool {
	s.t.Helper()
	v, err := s.mapOf(id).LookupBytes(number)
	if err != nil {
		s.t.Fatal(err)
	}
	return v != nil
}

// check wants a set to have a number, or not.
func (s *targetProgram) check(what string, id load.MapID, number uint32, want bool) {
	s.t.Helper()
	if got := s.in(id, number); got != want {
		s.t.Errorf("%s: got it in the set %t, want %t", what, got, want)
	}
}

func put(t *testing.T, m *ebpf.Map, key, value any) {
	t.Helper()
	if err := m.Put(key, value); err != nil {
		t.Fatal(err)
	}
}

// A workload counts from its own execve on; the execve of another process changes nothing.
func TestWorkloadBegins(t *testing.T) {
	target := &load.Target{Workload: true}
	s := track(t, func(im *load.Image, h *features.Host) { state.TrackProcesses(im, h, target) }, "tgid")
	control := s.mapOf(load.ControlMap.Of())
	self := uint64(s.self)
	counts := func(waits, want uint64) {
		t.Helper()
		put(t, control, uint32(0), bpftest.Bytes(0, waits))
		s.call(0, 0)
		v, err := control.LookupBytes(uint32(0))
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.NativeEndian.Uint64(v); got != want {
			t.Errorf("process %d is waited for: got that %d counts, want %d", waits, got, want)
		}
	}
	counts(self+1, 0)
	counts(self, self)
}

// TestChildrenComeIn checks that children of the target's processes come in, and theirs; threads
// are no processes.
func TestChildrenComeIn(t *testing.T) {
	target := &load.Target{Follow: true}
	s := track(t, func(im *load.Image, h *features.Host) { state.TrackProcesses(im, h, target) }, "tgid")
	set, control := load.ProcessesMap.Of(), s.mapOf(load.ControlMap.Of())
	put(t, control, uint32(0), bpftest.Bytes(1<<32, 0)) // nobody
	s.call(4001, 0)
	s.check("a child of another process", set, 4001, false)
	put(t, control, uint32(0), bpftest.Bytes(uint64(s.self), 0))
	s.call(4002, cloneThread)
	s.check("a thread", set, 4002, false)
	s.call(4003, 0)
	s.check("a child of the first process", set, 4003, true)
	put(t, control, uint32(0), bpftest.Bytes(1<<32, 0))
	put(t, s.mapOf(set), s.self, uint32(0))
	s.call(4004, 0)
	s.check("a child of a child", set, 4004, true)
}

// TestThreads checks that threads that the target's threads make come in if they belong to it; a
// number that another task gets goes out.
func TestThreads(t *testing.T) {
	for _, c := range []struct {
		what            string
		target          load.Target
		thread, process bool // comes in
	}{
		{"of processes", load.Target{PIDs: []int{1}}, true, false},
		{"of threads", load.Target{TIDs: []int{1}}, false, false},
		{"of a workload", load.Target{Workload: true}, true, true},
		{"of processes that are followed", load.Target{PIDs: []int{1}, Follow: true}, true, true},
	} {
		s := track(t, func(im *load.Image, h *features.Host) { state.TrackThreads(im, h, &c.target) }, "pid")
		set := load.ThreadsMap.Of()
		put(t, s.mapOf(set), uint32(4001), uint32(0))
		s.call(4001, cloneThread)
		s.check(c.what+", a number that another task has now", set, 4001, false)
		put(t, s.mapOf(set), s.thread, uint32(0))
		s.call(4002, cloneThread)
		s.check(c.what+", a thread", set, 4002, c.thread)
		s.call(4003, 0)
		s.check(c.what+", a process", set, 4003, c.process)
	}
}
