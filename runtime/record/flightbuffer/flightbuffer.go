// Package flightbuffer reads the events that programs of the kernel keep in memory of each CPU,
// which overwrites its oldest: recent events, read once it is known afterwards that it
// matters. Package session opens it where a plan shows what happened during slow pairs;
// package sent has the form of the records. It stops nobody: programs go on writing while
// it reads, and what they overwrite meanwhile is told as missing.
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

// A Window is the memory of all CPUs, mapped. It is used by one goroutine.
type Window struct {
	cfg    Config
	counts []byte // the mapped counts
	slots  []byte // the mapped records
	reader *sent.KeptReader
	copied []byte // of one CPU, in which records are made events
	evs    []event.Event
	sorted []event.Event
	places []place
}

// A place is where an event lies, to be sorted by time.
type place struct {
	at event.Time
	of int
}

// A Config says where the memory is.
type Config struct {
	CPUs    int
	Layout  *sent.KeptLayout
	Streams []*event.Stream // by index in Kept.Events
	// CountsFD is an array with CountSize bytes for each CPU, which begin with the number
	// of records that were begun.
	CountsFD, CountSize int
	// SlotsFD is an array of Kept.Records records for each CPU.
	SlotsFD int
}

// Open maps the memory; Close gives it back.
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

// room is how many bytes of records each CPU has.
func (w *Window) room() int { return w.cfg.Layout.Records * w.cfg.Layout.Size }

// Bytes is how much memory the records of all CPUs take.
func (w *Window) Bytes() int { return len(w.slots) }

// Close gives the memory back.
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
	// settle is how old a record is, at least, whose number was taken, before it is
	// looked at: other CPUs see by then that it is whole.
	settle = 10 * time.Microsecond
	// disorder is how much later a record may be numbered than one that is newer: a
	// program that takes its time may be interrupted before it takes its number.
	disorder = event.Time(time.Millisecond)
	// patience is how long is waited for records that somebody is writing.
	patience = 2 * time.Millisecond
)

// Of is what is kept for a join, by its number.
func (w *Window) Of(join int) *Part { return &Part{w, join} }

// A Part is what a Window has for one join.
type Part struct {
	*Window
	join int
}

// Read returns the events from a time on, in the order of their times, until Release. It
// has all of them from since on: what is older may be overwritten, or was not whole in
// time. since is 0 if nothing is missing.
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

// inOrder sorts the events by their times. Those of a CPU are nearly so; an event is large, and moved once.
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

// Now is the time of programs' clock.
func (w *Window) Now() event.Time {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return event.Time(t.Nano())
}

// Release gives the memory of the events back.
func (w *Window) Release() { w.reader.Release() }

// head is how many records a CPU has begun.
func (w *Window) head(cpu int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&w.counts[cpu*w.cfg.CountSize])))
}

// slot is where a record of a CPU lies, by its number.
func (w *Window) slot(cpu int, n uint64) []byte {
	k := w.cfg.Layout
	at := cpu*w.room() + int(n&uint64(k.Records-1))*k.Size
	return w.slots[at : at+k.Size : at+k.Size]
}

// read adds the events of a CPU, the newest first, and returns since when all are there.
func (w *Window) read(cpu int, head uint64, join int, from event.Time) (since event.Time) {
	k := w.cfg.Layout
	w.copied = slices.Grow(w.copied[:0], k.Size)[:k.Size]
	last := event.MaxTime // the time of the record before
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
			break // it was overwritten meanwhile, as all that are older
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

// copySlot copies a record, if it is whole.
func (w *Window) copySlot(cpu int, n uint64) bool {
	slot := w.slot(cpu, n)
	mark := (*uint64)(unsafe.Pointer(&slot[sent.KeptMark]))
	if atomic.LoadUint64(mark) != n+1 {
		return false
	}
	copy(w.copied, slot)
	return atomic.LoadUint64(mark) == n+1
}

// there reports that nobody had begun to overwrite a record until now.
func (w *Window) there(cpu int, n uint64) bool { return w.head(cpu) <= n+uint64(w.cfg.Layout.Records) }
