package order

import (
	"context"
	"time"

	"ppscript/runtime/event"
)

// A Converted is a source that changes events, such as their times or threads,
// before they are handed out. Times must keep their order.
type Converted struct {
	src   event.Source
	fn    func(e *event.Event)
	rings []event.Ring
}

// Convert returns src with fn applied to every record.
func Convert(src event.Source, fn func(e *event.Event)) *Converted {
	c := &Converted{src: src, fn: fn}
	c.findRings()
	return c
}

func (c *Converted) findRings() {
	for _, r := range c.src.Rings()[len(c.rings):] {
		c.rings = append(c.rings, &convertedRing{r, c.fn})
	}
}

// Streams implements event.Source.
func (c *Converted) Streams() []*event.Stream { return c.src.Streams() }

// Rings implements event.Source.
func (c *Converted) Rings() []event.Ring { return c.rings }

// Poll implements event.Source.
func (c *Converted) Poll(ctx context.Context, timeout time.Duration) error {
	err := c.src.Poll(ctx, timeout)
	c.findRings()
	return err
}

// Close implements event.Source.
func (c *Converted) Close() error { return c.src.Close() }

// Lags implements Lagging.
func (c *Converted) Lags() bool {
	l, ok := c.src.(Lagging)
	return ok && l.Lags()
}

type convertedRing struct {
	event.Ring
	fn func(e *event.Event)
}

// Read implements event.Ring.
func (r *convertedRing) Read(dst []event.Event, until uint64) int {
	n := r.Ring.Read(dst, until)
	for i := range dst[:n] {
		r.fn(&dst[i])
	}
	return n
}

// Tight implements Tight.
func (r *convertedRing) Tight() bool {
	t, ok := r.Ring.(tight)
	return ok && t.Tight()
}
