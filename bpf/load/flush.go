package load

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/fold"
)

// This file makes a program flush the states of folds, one after the other, with the
// kernel's command to run a program (BPF_PROG_TEST_RUN, for raw tracepoints since 5.10).
// It costs a call for each state that is not as at its begin.

// A Flush describes how the states of a fold are flushed. Offsets in a state
// count words.
type Flush struct {
	Spec    *fold.Spec
	States  MapID
	Area    MapID // mapped, for the program and for us
	Program int
	// What the program returns when it flushed the state, and when it should be asked
	// again; else there is no state.
	Finished, Busy uint32

	Cols   []Column // of the key
	KeyLen int
	Born   int      // when the state was made
	First  int      // offset of the numbers, which texts follow
	Begin  []uint64 // the initial state, from First on
	Texts  []Column // in the state, in bytes
}

// Places in the memory through which a state is flushed. The state follows its key.
const (
	FlushEnd  = 0 // u64: the time of the run's end, 0 before it
	FlushTime = 8 // u64: when the state was flushed
	FlushKey  = 16
)

// flushTries bounds the tries to flush a state that a program is working on. One try
// waits for some 50 us.
const flushTries = 100

// A bornKey is a key whose state is to be flushed.
type bornKey struct {
	key  string
	born uint64
}

// States gives access to the states of folds that are flushed.
type States struct{ *Run }

// StatesOf gives access to the states that programs keep.
func StatesOf(r *Run) States { return States{r} }

// Flush applies flush functions to the states of all folds that have one, and calls fn
// with a copy of each state from before, the oldest state first. The copy is valid
// until fn returns.
func (r States) Flush(fn func(of *fold.Spec, s *fold.State)) error {
	for i := range r.im.Flushes {
		if err := r.flush(&r.im.Flushes[i], fn); err != nil {
			return fmt.Errorf("flush the states of a fold: %w", err)
		}
	}
	return nil
}

func (r States) flush(f *Flush, fn func(of *fold.Spec, s *fold.State)) error {
	var keys []bornKey
	err := r.words(f.States).walk(func(key []byte, state []uint64) {
		if !slices.Equal(state[f.First:f.First+len(f.Begin)], f.Begin) {
			keys = append(keys, bornKey{string(key), state[f.Born]})
		}
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	slices.SortStableFunc(keys, func(a, b bornKey) int { return cmp.Compare(a.born, b.born) })
	mem, err := r.area(f)
	if err != nil {
		return err
	}
	numbers := len(f.Spec.Init)
	s := fold.State{Numbers: make([]int64, numbers), Texts: make([][]byte, len(f.Texts))}
	words := make([]uint64, len(f.Begin))
	for _, k := range keys {
		copy(mem[FlushKey:], k.key)
		ret := f.Busy
		for tries := 0; ret == f.Busy && tries < flushTries; tries++ {
			if ret, err = runProgram(r.progs[f.Program]); err != nil {
				return err
			}
		}
		if ret != f.Finished {
			continue
		}
		state := mem[FlushKey+f.KeyLen:]
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(state[8*(f.First+i):])
		}
		if slices.Equal(words, f.Begin) {
			continue // meanwhile
		}
		for i := range s.Numbers {
			s.Numbers[i] = int64(words[i])
		}
		for i, t := range f.Texts {
			s.Texts[i] = append(s.Texts[i][:0], reader(r).text(state[t.Off:t.Off+t.Size])...)
		}
		s.Key = reader(r).packed(s.Key[:0], f.Cols, []byte(k.key), nil)
		s.Time = event.Time(binary.LittleEndian.Uint64(mem[FlushTime:]))
		fn(f.Spec, &s)
	}
	return nil
}

// area is the memory through which a fold is flushed, which stays mapped.
func (r States) area(f *Flush) (mem []byte, err error) {
	if mem = r.swept.areas[f.Area]; mem != nil {
		return mem, nil
	}
	m := r.maps[f.Area]
	mem, err = unix.Mmap(m.FD(), 0, int(m.ValueSize()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the memory of a flush: %w", err)
	}
	if r.swept.areas == nil {
		r.swept.areas = map[MapID][]byte{}
	}
	r.swept.areas[f.Area] = mem
	return mem, nil
}

// end stops the steps of all folds: states are flushed from now on as they were at the run's end.
func (r States) end(at uint64) error {
	for i := range r.im.Flushes {
		mem, err := r.area(&r.im.Flushes[i])
		if err != nil {
			return err
		}
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&mem[FlushEnd])), at)
	}
	return nil
}

// unmap frees the memory of flushes.
func (r States) unmap() error {
	var errs []error
	for _, mem := range r.swept.areas {
		errs = append(errs, unix.Munmap(mem))
	}
	r.swept.areas = nil
	return errors.Join(errs...)
}

// must match the test member of union bpf_attr in include/uapi/linux/bpf.h
type runAttr struct {
	prog, ret      uint32
	sizes          [2]uint32
	data           [2]uint64
	repeat, spent  uint32
	context        [2]uint32 // sizes
	contexts       [2]uint64
	flags, cpu     uint32
	batch, padding uint32
}

// runProgram runs a program once, without a context, and returns what it returns.
func runProgram(p *ebpf.Program) (uint32, error) {
	const testRun = 10 // BPF_PROG_TEST_RUN
	a := &runAttr{prog: uint32(p.FD())}
	_, _, e := unix.Syscall(unix.SYS_BPF, testRun, uintptr(unsafe.Pointer(a)), unsafe.Offsetof(a.batch))
	if e != 0 {
		return 0, e
	}
	return a.ret, nil
}
