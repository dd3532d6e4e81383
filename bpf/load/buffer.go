package load

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// This file makes the buffers through which programs send, one for each CPU.

// The state of a buffer in programs, as SendMap has it. The count of records that
// did not fit only grows; before the next one that fits goes a record with
// the count. It has a cache line, which no other CPU writes.
const (
	SendFailed = 0  // records that did not fit
	SendTold   = 8  // of these, the number that records have reported
	SendWake   = 16 // fill in bytes at which the reader is woken
	SendSize   = 64
)

// Buffer makes the buffer of a CPU, with a size in bytes, and returns its
// descriptor, which the Run owns. The reader is woken when wake bytes wait.
func (r *Run) Buffer(cpu, size, wake int) (fd int, err error) {
	fail := func(err error) (int, error) {
		return -1, fmt.Errorf("make the buffer of CPU %d: %w", cpu, err)
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: kernelName("buffer"), Type: ebpf.RingBuf, MaxEntries: uint32(size),
	})
	if err != nil {
		return fail(err)
	}
	r.maps[BufferMap.Of(cpu)] = m
	state := make([]byte, SendSize)
	binary.LittleEndian.PutUint64(state[SendWake:], uint64(wake))
	if err := r.maps[SendMap.Of()].Put(uint32(cpu), state); err != nil {
		return fail(err)
	}
	if err := r.maps[BuffersMap.Of()].Put(uint32(cpu), m); err != nil {
		return fail(err)
	}
	return m.FD(), nil
}

// Wake changes how many bytes have to wait in the buffer of a CPU before its reader
// is woken: the kernel writes beside it, so that the word is changed in place.
func (r *Run) Wake(cpu, wake int) error {
	m := r.maps[SendMap.Of()]
	if m == nil {
		return nil
	}
	if r.send.mem == nil {
		mem, err := unix.Mmap(m.FD(), 0, int(m.MaxEntries())*SendSize, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED)
		if err != nil {
			return fmt.Errorf("map the states of buffers: %w", err)
		}
		r.send.mem = mem
	}
	if at := cpu*SendSize + SendWake; at < len(r.send.mem) {
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&r.send.mem[at])), uint64(wake))
	}
	return nil
}

// Late is the buffer of texts that are read when a system call ends, and its size;
// false if there is none.
func (r *Run) Late() (fd, size int, ok bool) {
	m := r.maps[LateTextsMap.Of()]
	if m == nil {
		return -1, 0, false
	}
	return m.FD(), int(m.MaxEntries()), true
}

// Untold is the number of records that did not fit into the buffer of a CPU and
// that no record has reported yet.
func (r *Run) Untold(cpu int) (uint64, error) {
	if r.maps == nil {
		return 0, nil
	}
	binary.LittleEndian.PutUint32(r.send.key[:], uint32(cpu))
	if err := r.words(SendMap.Of()).lookup(r.send.key[:], r.send.state[:]); err != nil {
		return 0, fmt.Errorf("read the losses of CPU %d: %w", cpu, err)
	}
	return r.send.state[SendFailed/8] - r.send.state[SendTold/8], nil
}
