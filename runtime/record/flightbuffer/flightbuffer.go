// Package flightbuffer reads flight buffers: memory of each CPU in which programs of the kernel
// keep the newest events, and overwrite the oldest. The events are read only after a slow pair
// was found, to show what happened during it. Package session opens it; package sent has the
// layout of the records. Reading does not stop the programs: they go on writing, and events
// that they overwrite meanwhile are reported as missing.
package flightbuffer

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/record/sent"
)

// A Window is the mapped memory of all CPUs. It is used by one goroutine.
type Window struct {
	cfg    Config
	counts []byte // the mapped counts
	slots  []byte // the mapped records
	reader *sent.KeptReader
	copied []byte // a copy of one CPU's records, while they are converted to events
	evs    []event.Event
	sorted []event.Event
	places []place
}

// A place is the time and the index of an event, for sorting by time.
type place struct {
	at event.Time
	of int
}

// A Config describes the memory to map.
type Config struct {
	CPUs    int
	Layout  *sent.KeptLayout
	Streams []*event.Stream // by index in Kept.Events
	// CountsFD is the descriptor of an array map with CountSize bytes for each CPU. They
	// begin with a u64: the number of records that the CPU's programs have begun to
	// write.
	CountsFD, CountSize int
	// SlotsFD is the descriptor of an array map with Layout.Records records for
	// each CPU.
	SlotsFD int
}

// Open maps the memory; Close unmaps it.
func Open(cfg Config) (*Window, error) {
	w := &Window{cfg: cfg, reader: sent.NewKeptReader(cfg.Layout, cfg.Streams)}
	var err error
	if w.counts, err = mapped(cfg.CountsFD, cfg.CPUs*cfg.CountSize); err != nil {
		return nil, err
	}
	if w.slots, err = mapped(cfg.SlotsFD, cfg.CPUs*w.room()); err != nil {
		return nil, cmp.Or(w.Close(), err)
	}
	return w, nil
}

func mapped(fd, size int) ([]byte, error) {
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the kept events: %w", err)
	}
	return mem, nil
}

// room returns the size of one CPU's records, in bytes.
func (w *Window) room() int { return w.cfg.Layout.Records * w.cfg.Layout.Size }

// Bytes returns the size of the records of all CPUs.
func (w *Window) Bytes() int { return len(w.slots) }

// Close unmaps the memory.
func (w *Window) Close() error {
	var errs [2]error
	for i, m := range []*[]byte{&w.counts, &w.slots} {
		if *m != nil {
			errs[i] = unix.Munmap(*m)
			*m = nil
		}
	}
	return cmp.Or(errs[0], errs[1])
}

const (
	// settle is the time between reading a CPU's count and reading its records. By
	// then, a record that was being written is complete, as seen from other CPUs.
	settle = 10 * time.Microsecond
	// disorder bounds how far the times of a CPU's records may be out of the order
	// of their numbers: a program may be interrupted after it has read the time and
	// before it gets a number.
	disorder = event.Time(time.Millisecond)
	// patience bounds the time to wait for records that are being written.
	patience = 2 * time.Millisecond
)

// Of returns the part of the window for a join, by the join's number.
func (w *Window) Of(join int) *Part { return &Part{w, join} }

// A Part is the events of a Window that are kept for one join.
type Part struct {
	*Window
	join int
}

// Read returns the events since from, sorted by time; they are valid until Release. From
// the time since on, none are missing. Older events may have been overwritten, or were
// not complete in time. since is 0 if none are missing.
func (w *Part) Read(from event.Time) (evs []event.Event, since event.Time) {
	heads := make([]uint64, w.cfg.CPUs)
	for cpu := range heads {
		heads[cpu] = w.head(cpu)
	}
	for start := time.Now(); time.Since(start) < settle; {
	}
	w.evs = w.evs[:0]
	for cpu, head := range heads {
		if head > 0 {
			of := len(w.evs)
			since = max(since, w.read(cpu, head, w.join, from))
			slices.Reverse(w.evs[of:])
		}
	}
	return w.inOrder(), since
}

// inOrder sorts the events by time. It sorts places first, since an event is large and should be
// moved only once.
func (w *Window) inOrder() []event.Event {
	w.places, w.sorted = w.places[:0], w.sorted[:0]
	for i := range w.evs {
		w.places = append(w.places, place{w.evs[i].Time, i})
	}
	slices.SortFunc(w.places, func(a, b place) int { return cmp.Or(cmp.Compare(a.at, b.at), a.of-b.of) })
	for _, p := range w.places {
		w.sorted = append(w.sorted, w.evs[p.of])
	}
	return w.sorted
}

// Now returns the time on the programs' clock, CLOCK_MONOTONIC.
func (w *Window) Now() event.Time {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return event.Time(t.Nano())
}

// Release frees the memory of the events that Read returned.
func (w *Window) Release() { w.reader.Release() }

// head returns the number of records that a CPU has begun to write.
func (w *Window) head(cpu int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&w.counts[cpu*w.cfg.CountSize])))
}

// slot returns the memory of a CPU's record with number n.
func (w *Window) slot(cpu int, n uint64) []byte {
	k := w.cfg.Layout
	at := cpu*w.room() + int(n&uint64(k.Records-1))*k.Size
	return w.slots[at : at+k.Size : at+k.Size]
}

// read adds the events of a CPU, the newest first, and returns the time from which none
// are missing.
func (w *Window) read(cpu int, head uint64, join int, from event.Time) (since event.Time) {
	k := w.cfg.Layout
	w.copied = slices.Grow(w.copied[:0], k.Size)[:k.Size]
	last := event.MaxTime // the time of the previous record, which is newer
	oldest := head - min(head, uint64(k.Records))
	deadline := time.Now().Add(patience)
	n := head
	for n > oldest {
		n--
		whole := w.copySlot(cpu, n)
		for !whole && w.there(cpu, n) && time.Now().Before(deadline) {
			time.Sleep(settle)
			whole = w.copySlot(cpu, n)
		}
		if !w.there(cpu, n) {
			n++
			break // it was overwritten meanwhile, and so were all older records
		}
		if !whole {
			since = max(since, last)
			continue
		}
		at, of := sent.KeptFor(w.copied)
		if at < from-disorder {
			return since
		}
		last = at
		var e event.Event
		if of == join && w.reader.Show(&e, cpu, w.copied) {
			w.evs = append(w.evs, e)
		}
	}
	if n > 0 {
		since = max(since, last)
	}
	return since
}

// copySlot copies a record; false if it is not complete.
func (w *Window) copySlot(cpu int, n uint64) bool {
	slot := w.slot(cpu, n)
	mark := (*uint64)(unsafe.Pointer(&slot[sent.KeptMark]))
	if atomic.LoadUint64(mark) != n+1 {
		return false
	}
	copy(w.copied, slot)
	return atomic.LoadUint64(mark) == n+1
}

// there reports that record n is not being overwritten so far.
func (w *Window) there(cpu int, n uint64) bool { return w.head(cpu) <= n+uint64(w.cfg.Layout.Records) }
