package interpreted

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"ppscript/bpf/features"
)

// This file loads the program and reads its samples and stacks.

// perCPU is the number of samples in a CPU's ring, a power of two. maxStacks bounds the kept
// stacks: the least recently seen are evicted. MaxProcesses bounds the processes that have a
// Config.
const (
	perCPU       = 1 << 11
	maxStacks    = 1 << 12
	MaxProcesses = 1 << 12
)

// A Config describes the layout of an interpreter's data in a process. struct config of walker.c
// must match it.
type Config struct {
	Search
	Frames
}

// Search describes how to find the innermost frame of the running thread.
type Search struct {
	Start      uint64 // ThreadStart or WordStart
	Head       uint64 // address of the pointer that the search for the innermost frame starts at
	First      uint64 // 1 + offset of the first interpreter's pointer at *Head; 0 if *Head is the interpreter
	Threads    uint64 // offset of the first thread in an interpreter
	NextInterp uint64 // offset of the next interpreter
	NextThread uint64 // offset of the next thread in a thread
	ThreadID   uint64 // offset of the value of pthread_self() in a thread, or in the structure of Native
	Native     uint64 // 1 + offset in a thread of the pointer to its ThreadID's structure; 0 if there is none
	Frame      uint64 // offset of the innermost frame, or of its holder
	Holder     uint64 // 1 + offset of the innermost frame in the holder; 0 if there is none
	Stack      uint64 // offset in the holder of the end of frames: an address, and words from there
}

// Frames describes the layout of a frame.
type Frames struct {
	Code     uint64 // offset of the code object in a frame
	Body     uint64 // 1 + offset in it of the pointer to the part that does not move; 0 if it does not move
	Previous uint64 // offset of the caller's frame in a frame
	Step     uint64 // bytes from a frame to its caller's, if frames lie side by side; else 0
	Instr    uint64 // offset of the position in the code
	Owner    uint64 // offset of the member that marks entries, see Entry
	Mask     uint64 // the bits of it that mark entries
	Size     uint64 // bytes of a frame up to the last of these members
	Entry    uint64 // EachEntry to PointerEntry
	Strings  uint64 // offset in a code object of three pointers, from which Check is computed
}

// A Sample is the result of one run of the program.
type Sample struct {
	Time     int64 // CLOCK_MONOTONIC
	TID, PID int32
	Hash     uint64
}

// A Frame is a frame of an interpreted function. Code is 0 for a call of the interpreter from C in
// which no code runs.
type Frame struct{ Code, Instr, Check uint64 }

// Check computes the Check of a Frame, which distinguishes code objects, from three pointers in the
// object.
func Check(a, b, c uint64) uint64 { return (a*hashFactor^b)*hashFactor ^ c }

// A Stack lists the frames of a thread, innermost first. Cut says that the
// thread has more.
type Stack struct {
	Frames []Frame
	Cut    bool
}

// A Run is the program in the kernel. It is used by one goroutine.
type Run struct {
	coll *ebpf.Collection
	tls  int32
	// beside holds programs that share its maps: of other types, and fronts. Their maps stay open:
	// the kernel removes the program that a front calls when the map is closed.
	beside []*ebpf.Collection
	raw    *ebpf.Program        // the program for tracepoints, nil until one is hooked
	hooks  map[string]link.Link // by tracepoint
	ring   []byte
	cpus   int
	next   []uint64 // by CPU: the number of the sample that is read next
}

// ErrUnknown is the error if the kernel's types do not show where a task has its thread's
// register.
var ErrUnknown = errors.New("the kernel's type information does not tell where threads have their memory " +
	"(x86-64 and CONFIG_DEBUG_INFO_BTF)")

// program is a routine of walker.c as a program; tls is the offset in a task of its thread's
// register.
func program(tls int32, name string) asm.Instructions {
	return routines.Program(name, map[string]int64{"thread_register": int64(tls)})
}

// Open loads the program.
func Open(host *features.Host) (r *Run, err error) {
	tls, ok := register(host)
	if !ok {
		return nil, ErrUnknown
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, err
	}
	spec := &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{
			configMap: {Type: ebpf.Hash, KeySize: 8, ValueSize: uint32(configSize), MaxEntries: MaxProcesses},
			memoryMap: {Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: memorySize, MaxEntries: 1},
			stacksMap: {Type: ebpf.LRUHash, KeySize: 8, ValueSize: stackSize, MaxEntries: maxStacks},
			ringMap: {Type: ebpf.Array, KeySize: 4, ValueSize: sampleSize, MaxEntries: uint32(cpus * perCPU),
				Flags: unix.BPF_F_MMAPABLE},
			freshMap: {Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: maxStacks},
		},
		Programs: map[string]*ebpf.ProgramSpec{"walk": {Name: "pps_interpreted", Type: ebpf.PerfEvent,
			License: "GPL", Instructions: program(tls, "beside")}},
	}
	for name, m := range spec.Maps {
		m.Name = "pps_in_" + name
	}
	r = &Run{tls: tls, cpus: cpus, next: make([]uint64, cpus), hooks: map[string]link.Link{}}
	if r.coll, err = ebpf.NewCollection(spec); err != nil {
		return nil, fmt.Errorf("load program for interpreters: %w", err)
	}
	size := cpus * perCPU * sampleSize
	r.ring, err = unix.Mmap(r.coll.Maps[ringMap].FD(), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		r.coll.Close()
		return nil, fmt.Errorf("map samples of interpreters: %w", err)
	}
	return r, nil
}

// Close detaches and closes all programs and maps.
func (r *Run) Close() error {
	for _, h := range r.hooks {
		h.Close()
	}
	for _, c := range r.beside {
		c.Close()
	}
	r.coll.Close()
	return unix.Munmap(r.ring)
}

// FD is the descriptor of the program, to be attached to sampled events.
func (r *Run) FD() int { return r.coll.Programs["walk"].FD() }

// Hook attaches the program to a raw tracepoint, not to perf's event: perf drops events that have a
// program while another program runs on the CPU. The program runs before perf's own handler.
func (r *Run) Hook(tracepoint string) error {
	if r.hooks[tracepoint] != nil {
		return nil
	}
	if r.raw == nil {
		coll, err := r.load(&ebpf.ProgramSpec{Name: "pps_interpreted", Type: ebpf.RawTracepoint,
			Instructions: program(r.tls, "beside")}, nil, nil)
		if err != nil {
			return err
		}
		r.raw = coll.Programs["walk"]
	}
	hook, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: tracepoint, Program: r.raw})
	if err != nil {
		return fmt.Errorf("attach program for interpreters to %s: %w", tracepoint, err)
	}
	r.hooks[tracepoint] = hook
	return nil
}

// Front loads a program that runs before the program next and calls it. next finds the hash of the
// sample's stack in the map found, 0 if there is none. Front returns the descriptor of the loaded
// program, which writes no Sample for At.
func (r *Run) Front(next *ebpf.Program, found *ebpf.Map) (fd int, err error) {
	coll, err := r.load(&ebpf.ProgramSpec{Name: "pps_infront", Type: ebpf.PerfEvent,
		Instructions: program(r.tls, "front")}, found,
		&ebpf.MapSpec{Name: "pps_in_next", Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		return 0, err
	}
	if err := coll.Maps[nextMap].Put(uint32(0), next); err != nil {
		return 0, fmt.Errorf("load program for interpreters: %w", err)
	}
	return coll.Programs["walk"].FD(), nil
}

// load loads another program, with the maps of the first; found and next are nil if the program has
// no such map.
func (r *Run) load(prog *ebpf.ProgramSpec, found *ebpf.Map, next *ebpf.MapSpec) (*ebpf.Collection, error) {
	prog.License = "GPL"
	spec := &ebpf.CollectionSpec{Maps: map[string]*ebpf.MapSpec{},
		Programs: map[string]*ebpf.ProgramSpec{"walk": prog}}
	given := map[string]*ebpf.Map{}
	for _, name := range []string{configMap, memoryMap, stacksMap, freshMap} {
		given[name] = r.coll.Maps[name]
	}
	if next != nil {
		given[foundMap], spec.Maps[nextMap] = found, next
	} else {
		given[ringMap] = r.coll.Maps[ringMap]
	}
	for name, m := range given {
		spec.Maps[name] = &ebpf.MapSpec{Name: "pps_in_" + name, Type: m.Type(), KeySize: m.KeySize(),
			ValueSize: m.ValueSize(), MaxEntries: m.MaxEntries(), Flags: m.Flags()}
	}
	coll, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: given})
	if err != nil {
		return nil, fmt.Errorf("load program for interpreters: %w", err)
	}
	r.beside = append(r.beside, coll)
	return coll, nil
}

// Fresh calls fn for each stack that came since the last call of Fresh.
func (r *Run) Fresh(fn func(pid int32, hash uint64)) error {
	var hash, pid uint64
	list := r.coll.Maps[freshMap].Iterate()
	var all []uint64
	for list.Next(&hash, &pid) {
		fn(int32(pid), hash)
		all = append(all, hash)
	}
	for _, hash := range all {
		_ = r.coll.Maps[freshMap].Delete(hash) // if this fails, the stack is read again
	}
	if err := list.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return fmt.Errorf("read stacks of interpreters: %w", err)
	}
	return nil
}

// Watch makes the program follow the frames of a process.
func (r *Run) Watch(pid int32, c *Config) error {
	return r.coll.Maps[configMap].Put(uint64(pid), c)
}

// Forget ends Watch for a process.
func (r *Run) Forget(pid int32) error { return r.coll.Maps[configMap].Delete(uint64(pid)) }

// At returns the Sample of a CPU for a perf sample taken at the time when: the last one up to that
// time that At has not returned yet. Callers must ask in the order of the times.
func (r *Run) At(cpu int32, when int64) (s Sample, ok bool) {
	if cpu < 0 || int(cpu) >= r.cpus {
		return s, false
	}
	for {
		next := r.next[cpu]
		at := (*[4]uint64)(unsafe.Pointer(&r.ring[sampleSize*(int(cpu)*perCPU+int(next%perCPU))]))
		number := at[3]
		if number > next+1 { // overwritten: continue with the oldest one in the ring
			r.next[cpu] = max(number-1, next+1)
			continue
		}
		if number != next+1 || int64(at[0]) > when {
			return s, ok
		}
		s = Sample{Time: int64(at[0]), TID: int32(at[1]), PID: int32(at[1] >> 32), Hash: at[2]}
		r.next[cpu], ok = next+1, true
	}
}

// Stack returns the stack with a hash; false if it is not there any more.
func (r *Run) Stack(hash uint64) (st Stack, ok bool) {
	v, err := r.coll.Maps[stacksMap].LookupBytes(hash)
	if err != nil || len(v) != stackSize {
		return st, false
	}
	le := binary.LittleEndian
	n := le.Uint64(v[stackCount:])
	if n > maxFrames {
		return st, false
	}
	st.Cut = le.Uint64(v[stackCut:]) != 0
	for b := v[stackAt:][:n*frameSize]; len(b) > 0; b = b[frameSize:] {
		st.Frames = append(st.Frames, Frame{le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])})
	}
	return st, true
}
