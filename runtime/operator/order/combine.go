package order

import (
	"context"
	"errors"
	"io"
	"time"

	"ppscript/runtime/event"
)

// This file makes one source of several: recordings of several hosts, a
// recording beside a live stream. The times must be of one clock.
//
// One source's promise about its rings holds for its own rings only. Two
// cases differ:
//
//   - Live sources of one machine show events as they happen. They are looked
//     at twice: events that the first look at one of them saw are known once
//     all others have been looked at again.
//   - Sources that lag (recordings, streams from elsewhere) show events as they
//     are read. When such a source runs dry before its end, events of the
//     others wait if they are newer than its last one. A source that is silent
//     for stallTime is not waited for: the others would lose events in full
//     rings. Its later events are late, and counted.

// A Lagging source shows events later than they happen.
type Lagging interface{ Lags() bool }

// A Combined is several sources as one.
type Combined struct {
	parts   []*part
	streams []*event.Stream
	rings   []event.Ring
}

// A part is one of the sources.
type part struct {
	src     event.Source
	streams []*event.Stream // ours, by its own index
	rings   int             // that are in Combined.rings
	group   *group
	ended   bool
}

// A group is the rings of a source that lags, while a merge reads them.
type group struct {
	waits      bool // it lags and has not ended
	busy       int  // rings with events to hand out
	last       event.Time
	lastOutput time.Time // when there was something to hand out
}

// A partRing is a ring of a part.
type partRing struct {
	event.Ring
	part  *part
	known uint64
}

// Combine makes one source of several. Their streams keep their order; the
// indices are new. Closing it closes them all.
func Combine(sources ...event.Source) *Combined {
	c := &Combined{}
	for _, s := range sources {
		p := &part{src: s}
		if l, ok := s.(Lagging); ok && l.Lags() {
			p.group = &group{waits: true}
		}
		for _, st := range s.Streams() {
			our := *st
			our.Index = len(c.streams)
			p.streams = append(p.streams, &our)
			c.streams = append(c.streams, &our)
		}
		c.parts = append(c.parts, p)
	}
	c.findRings()
	return c
}

// Streams implements event.Source.
func (c *Combined) Streams() []*event.Stream { return c.streams }

// Rings implements event.Source.
func (c *Combined) Rings() []event.Ring { return c.rings }

func (c *Combined) findRings() {
	for _, p := range c.parts {
		for _, r := range p.src.Rings()[p.rings:] {
			c.rings = append(c.rings, &partRing{Ring: r, part: p})
			p.rings++
		}
	}
}

// Poll implements event.Source. Only one source is waited for; sources that are
// known to have something are polled without waiting.
func (c *Combined) Poll(ctx context.Context, timeout time.Duration) error {
	living := 0
	for _, p := range c.parts {
		if !p.ended {
			living++
		}
	}
	if living == 0 {
		return io.EOF
	}
	// An equal share for each: a source that sleeps wakes up in time for the others.
	share := timeout / time.Duration(living)
	for _, p := range c.parts {
		if err := c.poll(ctx, p, share); err != nil {
			return err
		}
	}
	c.findRings()
	for _, r := range c.rings {
		r := r.(*partRing)
		r.known, _ = r.Ring.Bounds()
	}
	// The second look: only at live sources, and only if there are others.
	if len(c.parts) > 1 {
		for _, p := range c.parts {
			if p.group == nil {
				if err := c.poll(ctx, p, 0); err != nil {
					return err
				}
			}
		}
	}
	for _, p := range c.parts {
		if !p.ended {
			return ctx.Err()
		}
	}
	for _, r := range c.rings {
		r := r.(*partRing)
		r.known, _ = r.Ring.Bounds()
	}
	return io.EOF
}

func (c *Combined) poll(ctx context.Context, p *part, timeout time.Duration) error {
	if p.ended {
		return nil
	}
	err := p.src.Poll(ctx, timeout)
	switch {
	case errors.Is(err, io.EOF):
		p.ended = true
		if p.group != nil {
			p.group.waits = false
		}
		return nil
	case err != nil && ctx.Err() != nil:
		return nil // bounds are set in spite of the error
	}
	return err
}

// Close implements event.Source.
func (c *Combined) Close() error {
	var errs []error
	for _, p := range c.parts {
		errs = append(errs, p.src.Close())
	}
	return errors.Join(errs...)
}

// Bounds implements event.Ring.
func (r *partRing) Bounds() (known, visible uint64) {
	known, visible = r.Ring.Bounds()
	return min(known, max(r.known, r.Pos())), visible
}

// Read implements event.Ring: the streams are the combined source's.
func (r *partRing) Read(dst []event.Event, until uint64) int {
	n := r.Ring.Read(dst, until)
	for i := range dst[:n] {
		if st := dst[i].Stream; st != nil {
			dst[i].Stream = r.part.streams[st.Index]
		}
	}
	return n
}

// Tight implements Tight.
func (r *partRing) Tight() bool {
	t, ok := r.Ring.(tight)
	return ok && t.Tight()
}

// lagGroup implements grouped.
func (r *partRing) lagGroup() *group { return r.part.group }
