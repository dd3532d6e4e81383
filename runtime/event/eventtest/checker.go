package eventtest

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"unsafe"

	"ppscript/runtime/event"
)

// A checker reads a source round by round and checks the promises of
// event.Source and event.Ring.
type checker struct {
	t      *testing.T
	suite  Suite
	src    event.Source
	rings  []*ringState
	copies [][]event.Event // copies of the events, by ring

	// latestKnown is the latest time of the records that earlier rounds read before the
	// bound known: no record that becomes visible later may be older.
	latestKnown event.Time
}

// A ringState holds the positions and times of a ring that must not decrease.
type ringState struct {
	ring           event.Ring
	known, visible uint64
	pos            uint64
	last           event.Time
}

// round reads the records that the last Poll made visible, in batches of size.
func (c *checker) round(size int) {
	c.t.Helper()
	rings := c.src.Rings()
	if len(rings) < len(c.rings) {
		c.t.Fatalf("Rings: got %d, had %d", len(rings), len(c.rings))
	}
	for i, r := range rings {
		if i == len(c.rings) {
			c.rings = append(c.rings, &ringState{ring: r, pos: r.Pos()})
			c.copies = append(c.copies, nil)
		}
		c.bounds(i)
	}
	complete := c.latestKnown
	for i := range c.rings {
		st := c.rings[i]
		c.read(i, st.known, size, &complete)
		c.read(i, st.visible, size, nil)
	}
	c.latestKnown = complete
}

func (c *checker) bounds(i int) {
	c.t.Helper()
	st := c.rings[i]
	known, visible := st.ring.Bounds()
	if known > visible {
		c.t.Errorf("ring %d: known %d is behind visible %d", i, known, visible)
	}
	if known < st.known || visible < st.visible {
		c.t.Errorf("ring %d: bounds went back: got %d and %d, had %d and %d", i, known, visible,
			st.known, st.visible)
	}
	st.known, st.visible = known, visible
}

// read reads ring i up to until. It releases only after two batches: the views
// of the first batch must stay valid while the second is read.
func (c *checker) read(i int, until uint64, size int, latest *event.Time) {
	c.t.Helper()
	st := c.rings[i]
	batches := [2][]event.Event{make([]event.Event, size), make([]event.Event, size)}
	for st.ring.Pos() < until {
		var kept [2][]event.Event
		for k := range batches {
			n := st.ring.Read(batches[k], until)
			if n < 0 || n > size {
				c.t.Fatalf("ring %d: Read into %d: got %d", i, size, n)
			}
			pos := st.ring.Pos()
			switch {
			case pos < st.pos:
				c.t.Fatalf("ring %d: position went back: got %d, had %d", i, pos, st.pos)
			case n < size && pos < until:
				c.t.Fatalf("ring %d: Read gave %d of %d events at %d, before until %d", i,
					n, size, pos, until)
			case n > 0 && pos == st.pos:
				c.t.Fatalf("ring %d: Read gave %d events and did not move", i, n)
			case pos > st.visible:
				c.t.Fatalf("ring %d: position %d is beyond visible %d", i, pos, st.visible)
			}
			st.pos = pos
			batches[k] = batches[k][:n]
			kept[k] = make([]event.Event, n)
			for j := range batches[k] {
				e := &batches[k][j]
				c.event(i, e, latest)
				e.Keep(&kept[k][j])
			}
		}
		for k := range batches {
			for j := range batches[k] {
				a, b := &batches[k][j], &kept[k][j]
				if !bytes.Equal(a.Rec, b.Rec) || !bytes.Equal(a.Raw, b.Raw) || a.Time != b.Time {
					c.t.Fatalf("ring %d: an event changed before Release: got %+v, was %+v", i, *a, *b)
				}
			}
			c.copies[i] = append(c.copies[i], kept[k]...)
			batches[k] = batches[k][:size]
		}
		before := st.ring.Pos()
		st.ring.Release()
		if after := st.ring.Pos(); after != before {
			c.t.Fatalf("ring %d: Release moved the position from %d to %d", i, before, after)
		}
	}
}

// event checks one event.
func (c *checker) event(i int, e *event.Event, latest *event.Time) {
	c.t.Helper()
	if int(e.Ring) != i {
		c.t.Fatalf("ring %d: event says ring %d", i, e.Ring)
	}
	streams := c.src.Streams()
	switch {
	case e.Kind == event.Sample && e.Stream == nil:
		c.t.Fatalf("ring %d: sample without a stream: %+v", i, *e)
	case e.Kind != event.Sample && e.Stream != nil:
		c.t.Fatalf("ring %d: record of kind %d with a stream: %+v", i, e.Kind, *e)
	case e.Stream != nil && (e.Stream.Index >= len(streams) || streams[e.Stream.Index] != e.Stream):
		c.t.Fatalf("ring %d: stream %q is not in Streams", i, e.Stream.Label)
	case !c.suite.Apart && len(e.Raw) > 0 && len(e.Rec) > 0 && !inside(e.Rec, e.Raw):
		c.t.Fatalf("ring %d: Raw is not a part of Rec", i)
	}
	if c.suite.Unordered || e.Time == 0 || e.Kind == event.Lost {
		return
	}
	st := c.rings[i]
	if e.Time < st.last {
		c.t.Fatalf("ring %d: time went back by %d ns", i, st.last-e.Time)
	}
	st.last = e.Time
	if e.Time < c.latestKnown {
		c.t.Fatalf("ring %d: an event became visible that is %d ns older than a known one", i,
			c.latestKnown-e.Time)
	}
	if latest != nil {
		*latest = max(*latest, e.Time)
	}
}

// inside reports that the memory of part is within the memory of whole.
func inside(whole, part []byte) bool {
	w, p := uintptr(unsafe.Pointer(unsafe.SliceData(whole))), uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	return p >= w && p+uintptr(len(part)) <= w+uintptr(len(whole))
}

// afterEnd checks that io.EOF is final.
func (c *checker) afterEnd() {
	c.t.Helper()
	if err := c.src.Poll(c.t.Context(), 0); !errors.Is(err, io.EOF) {
		c.t.Errorf("Poll after io.EOF: got %v, want io.EOF", err)
	}
	dst := make([]event.Event, 1)
	for i, st := range c.rings {
		known, visible := st.ring.Bounds()
		if visible != st.visible {
			c.t.Errorf("ring %d: visible moved after io.EOF: got %d, had %d", i, visible, st.visible)
		}
		if known != visible {
			c.t.Errorf("ring %d: at io.EOF known is %d, visible %d", i, known, visible)
		}
		if n := st.ring.Read(dst, visible); n != 0 {
			c.t.Errorf("ring %d: Read at the end: got %d events", i, n)
		}
	}
	if n := len(c.src.Rings()); n != len(c.rings) {
		c.t.Errorf("Rings after io.EOF: got %d, had %d", n, len(c.rings))
	}
}
