package load

import (
	"errors"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
)

// This file reads maps. Values are words of 64 bits whose number only the plan
// knows, and per-CPU maps have one value for each possible CPU behind another;
// the library would decode each by reflection.

// Commands of bpf(2).
const (
	mapLookup      = 1
	mapUpdate      = 2
	mapDelete      = 3
	mapNextKey     = 4
	mapLookupBatch = 24
	mapDrainBatch  = 25 // look up and delete
)

// must match union bpf_attr in include/uapi/linux/bpf.h
type elemAttr struct {
	fd    uint32
	_     uint32
	key   unsafe.Pointer
	value unsafe.Pointer // or the next key
	flags uint64
}

type batchAttr struct {
	in, out      unsafe.Pointer
	keys, values unsafe.Pointer
	count        uint32
	fd           uint32
	elemFlags    uint64
	flags        uint64
}

func bpfElem(cmd uintptr, a *elemAttr) error {
	_, _, e := unix.Syscall(unix.SYS_BPF, cmd, uintptr(unsafe.Pointer(a)), unsafe.Sizeof(*a))
	runtime.KeepAlive(a)
	if e != 0 {
		return e
	}
	return nil
}

func bpfBatch(cmd uintptr, a *batchAttr) error {
	_, _, e := unix.Syscall(unix.SYS_BPF, cmd, uintptr(unsafe.Pointer(a)), unsafe.Sizeof(*a))
	runtime.KeepAlive(a)
	if e != 0 {
		return e
	}
	return nil
}

// A words64 is a map that is read as words.
type words64 struct {
	fd      int
	key     int // bytes
	value   int // words, of one CPU
	cpus    int // values in each element
	entries int
	noBatch bool // this kernel has none for this type
	room    *batchRoom
}

// A batchRoom is the memory of batches, which is used again: at each interval many maps are
// read, and most have nothing.
type batchRoom struct {
	keys   []byte
	values []uint64
	lent   bool
}

// take is room for a batch; back gives it back. A caller that reads a map while another is read gets
// room of its own.
func (b *batchRoom) take(keys, values int) (k []byte, v []uint64, back func()) {
	if b == nil || b.lent {
		return make([]byte, keys), make([]uint64, values), func() {}
	}
	b.lent = true
	b.keys = slices.Grow(b.keys[:0], keys)[:keys]
	b.values = slices.Grow(b.values[:0], values)[:values]
	return b.keys, b.values, func() { b.lent = false }
}

// batchKeys is how many elements one call fetches, and fewer if they are large.
// It must not be less than there are in a bucket of a hash.
const (
	batchKeys  = 256
	batchBytes = 1 << 17
	leastBatch = 32
)

// drain calls fn for every element of a hash and deletes it. Nobody may write
// to it meanwhile. The slices die when fn returns.
func (m *words64) drain(fn func(key []byte, values []uint64)) error {
	if !m.noBatch {
		err := m.batches(mapDrainBatch, going(fn))
		if !unsupported(err) {
			return err
		}
		m.noBatch = true
	}
	key := make([]byte, m.key)
	values := make([]uint64, m.value*m.cpus)
	for {
		// The first key, always: the one before is gone.
		err := bpfElem(mapNextKey, &elemAttr{fd: uint32(m.fd), value: unsafe.Pointer(&key[0])})
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err == nil {
			err = m.lookup(key, values)
		}
		if err != nil {
			return err
		}
		fn(key, values)
		if err := bpfElem(mapDelete, &elemAttr{fd: uint32(m.fd), key: unsafe.Pointer(&key[0])}); err != nil {
			return err
		}
	}
}

// empty reports that a hash has no element.
func (m *words64) empty() bool {
	key := make([]byte, m.key)
	err := bpfElem(mapNextKey, &elemAttr{fd: uint32(m.fd), value: unsafe.Pointer(&key[0])})
	return errors.Is(err, unix.ENOENT)
}

// unsupported reports that a batch command failed because the kernel does not
// know it, or not for this type of map; or that a bucket was too large.
func unsupported(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, kernel.ENOTSUPP) || errors.Is(err, unix.ENOSPC)
}

// going is fn for batches, which sees all elements.
func going(fn func(key []byte, values []uint64)) func(key []byte, values []uint64) bool {
	return func(key []byte, values []uint64) bool {
		fn(key, values)
		return true
	}
}

// batches calls fn for the elements, as long as it says to go on.
func (m *words64) batches(cmd uintptr, fn func(key []byte, values []uint64) (on bool)) error {
	width := m.value * m.cpus
	n := max(leastBatch, min(batchKeys, batchBytes/(8*width)))
	keys, values, back := m.room.take(m.key*n, width*n)
	defer back()
	cursor := make([]byte, max(m.key, 8))
	a := &batchAttr{out: unsafe.Pointer(&cursor[0]), keys: unsafe.Pointer(&keys[0]),
		values: unsafe.Pointer(&values[0]), fd: uint32(m.fd)}
	for {
		a.count = uint32(n)
		err := bpfBatch(cmd, a)
		over := errors.Is(err, unix.ENOENT)
		if err != nil && !over {
			return err
		}
		for i := range int(a.count) {
			if !fn(keys[i*m.key:(i+1)*m.key], values[i*width:(i+1)*width]) {
				return nil
			}
		}
		if over {
			return nil
		}
		a.in = unsafe.Pointer(&cursor[0])
	}
}

func (m *words64) lookup(key []byte, values []uint64) error {
	return bpfElem(mapLookup, &elemAttr{
		fd: uint32(m.fd), key: unsafe.Pointer(&key[0]), value: unsafe.Pointer(&values[0]),
	})
}

func (m *words64) update(key []byte, values []uint64) error {
	return bpfElem(mapUpdate, &elemAttr{
		fd: uint32(m.fd), key: unsafe.Pointer(&key[0]), value: unsafe.Pointer(&values[0]),
	})
}

// each calls fn for every element of an array.
func (m *words64) each(fn func(index int, values []uint64)) error {
	return m.until(func(i int, values []uint64) bool {
		fn(i, values)
		return true
	})
}

// until calls fn for the elements of an array, as long as it says to go on.
func (m *words64) until(fn func(index int, values []uint64) (on bool)) error {
	if !m.noBatch {
		i := 0
		err := m.batches(mapLookupBatch, func(_ []byte, values []uint64) bool {
			i++
			return fn(i-1, values)
		})
		if !unsupported(err) {
			return err
		}
		m.noBatch = true
	}
	values := make([]uint64, m.value*m.cpus)
	for i := range m.entries {
		k := uint32(i)
		err := bpfElem(mapLookup, &elemAttr{
			fd: uint32(m.fd), key: unsafe.Pointer(&k), value: unsafe.Pointer(&values[0]),
		})
		if err != nil {
			return err
		}
		if !fn(i, values) {
			break
		}
	}
	return nil
}

// possibleCPUs is how many values an element of a per-CPU map has.
func possibleCPUs() (int, error) {
	cpus, err := kernel.ReadCPUs(kernel.Roots{})
	if err != nil {
		return 0, err
	}
	return cpus.Possible[len(cpus.Possible)-1] + 1, nil
}

// barrier waits until every program that runs now has ended: programs run with
// preemption disabled or under RCU, and this is a grace period.
func barrier() error {
	const global = 1 // MEMBARRIER_CMD_GLOBAL
	_, _, e := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}
