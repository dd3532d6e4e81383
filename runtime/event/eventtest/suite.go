// Package eventtest is the conformance suite of event.Source: perf rings,
// perf.data files, BPF rings and the network all pass it, each from a test
// beside its package.
//
//	func TestSource(t *testing.T) {
//		eventtest.Run(t, eventtest.Suite{
//			Open:       func(t *testing.T) event.Source { ... },
//			Repeatable: true,
//		})
//	}
//
// The suite checks the interface's promises, not the meaning of the events.
package eventtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// A Suite names the source to test.
type Suite struct {
	// Open opens the source anew. The suite closes it.
	Open func(t *testing.T) event.Source
	// Repeatable says that every Open delivers the same events, as a
	// recording does; then reading in small steps must give the same
	// events as reading in large ones.
	Repeatable bool
	// Unordered says that rings are not in time order: their times are not
	// checked.
	Unordered bool
	// Apart says that Raw is separate memory, not a part of Rec.
	Apart bool
	// Polls is the number of Polls after which reading ends, for a source that
	// never returns io.EOF; 0 means to read until io.EOF.
	Polls int
	// Activity makes events; it runs before each Poll. May be nil.
	Activity func()
	// Least is the smallest number of samples that is right; 0 means 1.
	Least int
}

// pollTimeout is long enough for a busy machine; no test waits for it to pass.
const pollTimeout = 10 * time.Second

// Run runs the suite as subtests of t.
func Run(t *testing.T, s Suite) {
	t.Run("read", func(t *testing.T) {
		if n := samples(s.collect(t, 64)); n < max(s.Least, 1) {
			t.Errorf("got %d samples, want at least %d", n, max(s.Least, 1))
		}
	})
	t.Run("streams", s.streams)
	t.Run("partial reads", s.partial)
	t.Run("close", s.close)
	t.Run("cancelled", s.cancelled)
	if s.Repeatable {
		t.Run("batch size", func(t *testing.T) {
			want := s.collect(t, 1000)
			for _, size := range []int{1, 7} {
				s.same(t, size, s.collect(t, size), want)
			}
		})
	}
}

// collect reads everything in batches of size and returns copies by ring; it
// makes the checks that hold for every reading.
func (s Suite) collect(t *testing.T, size int) [][]event.Event {
	t.Helper()
	src := s.Open(t)
	defer closeOnce(t, src)
	c := &checker{t: t, suite: s, src: src}
	for polls := 1; ; polls++ {
		if s.Activity != nil {
			s.Activity()
		}
		err := src.Poll(t.Context(), pollTimeout)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			t.Fatalf("Poll: %v", err)
		}
		c.round(size)
		if ended {
			c.afterEnd()
			break
		}
		if s.Polls > 0 && polls >= s.Polls {
			break
		}
		if t.Failed() {
			break
		}
	}
	return c.copies
}

func samples(rings [][]event.Event) (n int) {
	for _, r := range rings {
		for i := range r {
			if r[i].Kind == event.Sample {
				n++
			}
		}
	}
	return n
}

// same compares two readings of a repeatable source.
func (s Suite) same(t *testing.T, size int, got, want [][]event.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("batches of %d: got %d rings, want %d", size, len(got), len(want))
	}
	for r := range want {
		if len(got[r]) != len(want[r]) {
			t.Errorf("batches of %d: ring %d: got %d events, want %d", size, r, len(got[r]), len(want[r]))
			continue
		}
		for i := range want[r] {
			if !equal(&got[r][i], &want[r][i]) {
				t.Errorf("batches of %d: ring %d: event %d: got %+v, want %+v", size, r,
					i, got[r][i], want[r][i])
				break
			}
		}
	}
}

// equal compares events of two openings of a source; streams are compared by
// their index.
func equal(a, b *event.Event) bool {
	return a.Time == b.Time && a.PID == b.PID && a.TID == b.TID && a.CPU == b.CPU && a.Ring == b.Ring &&
		a.Kind == b.Kind && bytes.Equal(a.Raw, b.Raw) && bytes.Equal(a.Rec, b.Rec) &&
		(a.Stream == nil) == (b.Stream == nil) && (a.Stream == nil || a.Stream.Index == b.Stream.Index)
}

// streams checks the list of streams.
func (s Suite) streams(t *testing.T) {
	src := s.Open(t)
	defer closeOnce(t, src)
	before := slices.Clone(src.Streams())
	if len(before) == 0 {
		t.Fatal("no streams")
	}
	for i, st := range before {
		switch {
		case st == nil:
			t.Fatalf("stream %d is nil", i)
		case st.Index != i:
			t.Errorf("stream %d: Index: got %d", i, st.Index)
		case st.Schema == nil:
			t.Errorf("stream %d: no schema", i)
		case st.Label == "":
			t.Errorf("stream %d: no label", i)
		}
	}
	if s.Activity != nil {
		s.Activity()
	}
	if err := src.Poll(t.Context(), pollTimeout); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("Poll: %v", err)
	}
	if !slices.Equal(src.Streams(), before) {
		t.Error("Streams changed at Poll")
	}
}

// partial checks reads that stop before the visible end.
func (s Suite) partial(t *testing.T) {
	src := s.Open(t)
	defer closeOnce(t, src)
	if s.Activity != nil {
		s.Activity()
	}
	if err := src.Poll(t.Context(), pollTimeout); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("Poll: %v", err)
	}
	for i, r := range src.Rings() {
		start := r.Pos()
		_, visible := r.Bounds()
		dst := make([]event.Event, 4096)
		if n := r.Read(nil, visible); n != 0 || r.Pos() != start {
			t.Errorf("ring %d: Read into nothing: got %d events and position %d, want 0 and %d", i,
				n, r.Pos(), start)
		}
		if n := r.Read(dst, start); n != 0 || r.Pos() != start {
			t.Errorf("ring %d: Read until the own position: got %d events and position %d, want 0 and %d",
				i, n, r.Pos(), start)
		}
		r.Release() // of nothing
		if visible <= start {
			continue
		}
		// Up to the middle: the last record read begins before it.
		middle := start + (visible-start)/2
		last := start
		for r.Pos() < middle {
			last = r.Pos()
			r.Read(dst[:1], middle)
			if r.Pos() <= last {
				t.Fatalf("ring %d: Read until %d did not move from %d", i, middle, last)
			}
		}
		if last > middle {
			t.Errorf("ring %d: Read until %d went past it: read on from %d", i, middle, last)
		}
		if n := r.Read(dst[:1], middle); n != 0 {
			t.Errorf("ring %d: Read until %d at position %d: got %d events, want 0", i, middle, r.Pos(), n)
		}
		// Nothing can be read past the visible end.
		for last = r.Pos(); r.Read(dst, 1<<62) == len(dst) && r.Pos() > last; {
			last = r.Pos()
		}
		if r.Pos() > visible {
			t.Errorf("ring %d: Read without limit: got to position %d, visible is %d", i, r.Pos(), visible)
		}
		r.Release()
	}
}

// close checks that Close works at any moment, and twice.
func (s Suite) close(t *testing.T) {
	closeOnce(t, s.Open(t)) // unused

	src := s.Open(t)
	if s.Activity != nil {
		s.Activity()
	}
	if err := src.Poll(t.Context(), pollTimeout); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("Poll: %v", err)
	}
	for _, r := range src.Rings() {
		_, visible := r.Bounds()
		r.Read(make([]event.Event, 3), visible) // not released
	}
	closeOnce(t, src)
}

// closeOnce closes twice: the second time does nothing.
func closeOnce(t *testing.T, src event.Source) {
	t.Helper()
	if err := src.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := src.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// cancelled checks that Poll does not wait under a context that is over.
func (s Suite) cancelled(t *testing.T) {
	src := s.Open(t)
	defer closeOnce(t, src)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan error, 1)
	go func() { done <- src.Poll(ctx, time.Hour) }()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
			t.Errorf("Poll with a cancelled context: got %v, want %v", err, context.Canceled)
		}
	case <-time.After(pollTimeout):
		t.Fatal("Poll with a cancelled context waits")
	}
}
