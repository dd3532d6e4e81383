package order

import (
	"context"
	"errors"
	"io"
	"time"

	"ppscript/runtime/event"
)

// This file sorts sources whose rings are not in order themselves: streams
// that a network or several writers have mixed. Nothing tells when such a
// stream is complete up to some time, so events are held for a window: what is
// late by less than that is put right.
//
// Holding needs copies, here and nowhere else in this package. They are
// bounded in bytes; at the bound the oldest events go early, and are counted.
// What comes with an older time still is late, as in any ring.

// SortOptions bound a Sorted.
type SortOptions struct {
	// Window is how late an event may be; 0 is DefaultSortWindow.
	Window time.Duration
	// LimitBytes bounds what is held of each ring; 0 is DefaultSortBytes.
	LimitBytes int
}

// The bounds of SortOptions that have none.
const (
	DefaultSortWindow = time.Second
	DefaultSortBytes  = 64 << 20
)

// A Sorted is a source with each of its rings in order.
type Sorted struct {
	src   event.Source
	opt   SortOptions
	rings []event.Ring
	buf   [chunk]event.Event
	early uint64
	peak  int
}

// NewSorted sorts the rings of src. Closing it closes src.
func NewSorted(src event.Source, o SortOptions) *Sorted {
	if o.Window <= 0 {
		o.Window = DefaultSortWindow
	}
	if o.LimitBytes <= 0 {
		o.LimitBytes = DefaultSortBytes
	}
	s := &Sorted{src: src, opt: o}
	s.findRings()
	return s
}

func (s *Sorted) findRings() {
	for _, r := range s.src.Rings()[len(s.rings):] {
		s.rings = append(s.rings, &sortedRing{inner: r})
	}
}

// Streams implements event.Source.
func (s *Sorted) Streams() []*event.Stream { return s.src.Streams() }

// Rings implements event.Source.
func (s *Sorted) Rings() []event.Ring { return s.rings }

// Close implements event.Source.
func (s *Sorted) Close() error { return s.src.Close() }

// Lags implements Lagging.
func (s *Sorted) Lags() bool { return true }

// Early is how many events had to go before their window was over because the
// bound on memory was hit. PeakBytes is the most that was held of a ring.
func (s *Sorted) Early() uint64  { return s.early }
func (s *Sorted) PeakBytes() int { return s.peak }

// Poll implements event.Source.
func (s *Sorted) Poll(ctx context.Context, timeout time.Duration) error {
	err := s.src.Poll(ctx, timeout)
	s.findRings()
	end := errors.Is(err, io.EOF)
	for _, r := range s.rings {
		s.pull(r.(*sortedRing), end)
	}
	return err
}

// pull takes over what a ring shows and lets go what is old enough.
func (s *Sorted) pull(r *sortedRing, end bool) {
	_, visible := r.inner.Bounds()
	for r.inner.Pos() < visible {
		n := r.inner.Read(s.buf[:], visible)
		if n == 0 {
			break
		}
		for i := range s.buf[:n] {
			r.add(&s.buf[i])
			for r.bytes > s.opt.LimitBytes && len(r.heap) > 1 {
				s.early++
				r.ripen()
			}
		}
		s.peak = max(s.peak, r.bytes)
		r.inner.Release()
	}
	for len(r.heap) > 0 && (end || r.newest-r.heap[0].ev.Time > event.Time(s.opt.Window)) {
		r.ripen()
	}
	r.visible = r.pos + uint64(len(r.ripe))
}

// A sortedRing is a ring in order. Its positions count events.
type sortedRing struct {
	inner   event.Ring
	heap    []*sortee // what may still be followed by older ones
	ripe    []*sortee // what may be read, in order
	read    []*sortee // what has been read and not released
	free    []*sortee
	seq     uint64
	bytes   int // in the heap
	newest  event.Time
	pos     uint64
	visible uint64
}

// A sortee is a copy of an event that is being sorted.
type sortee struct {
	ev  event.Event
	seq uint64 // equal times keep their order
}

func (h *sortee) size() int { return 128 + max(len(h.ev.Raw), len(h.ev.Rec)) }

func (h *sortee) before(o *sortee) bool {
	return h.ev.Time < o.ev.Time || h.ev.Time == o.ev.Time && h.seq < o.seq
}

// add copies an event into the heap.
func (r *sortedRing) add(e *event.Event) {
	var h *sortee
	if n := len(r.free); n > 0 {
		h, r.free = r.free[n-1], r.free[:n-1]
	} else {
		h = new(sortee)
	}
	e.Keep(&h.ev)
	h.seq = r.seq
	r.seq++
	r.newest = max(r.newest, e.Time)
	r.bytes += h.size()
	r.heap = append(r.heap, h)
	for i := len(r.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !r.heap[i].before(r.heap[parent]) {
			break
		}
		r.heap[i], r.heap[parent] = r.heap[parent], r.heap[i]
		i = parent
	}
}

// ripen moves the oldest event of the heap to those that may be read.
func (r *sortedRing) ripen() {
	h := r.heap[0]
	last := len(r.heap) - 1
	r.heap[0] = r.heap[last]
	r.heap = r.heap[:last]
	for i := 0; ; {
		least := 2*i + 1
		if least >= last {
			break
		}
		if right := least + 1; right < last && r.heap[right].before(r.heap[least]) {
			least = right
		}
		if !r.heap[least].before(r.heap[i]) {
			break
		}
		r.heap[i], r.heap[least] = r.heap[least], r.heap[i]
		i = least
	}
	r.bytes -= h.size()
	r.ripe = append(r.ripe, h)
}

// Bounds implements event.Ring.
func (r *sortedRing) Bounds() (known, visible uint64) { return r.visible, r.visible }

// Pos implements event.Ring.
func (r *sortedRing) Pos() uint64 { return r.pos }

// Read implements event.Ring.
func (r *sortedRing) Read(dst []event.Event, until uint64) int {
	n := int(min(uint64(len(dst)), min(until, r.visible)-min(r.pos, until)))
	for i, h := range r.ripe[:n] {
		dst[i] = h.ev
	}
	r.read = append(r.read, r.ripe[:n]...)
	r.ripe = append(r.ripe[:0], r.ripe[n:]...)
	r.pos += uint64(n)
	return n
}

// Release implements event.Ring.
func (r *sortedRing) Release() {
	r.free = append(r.free, r.read...)
	r.read = r.read[:0]
}
