package order

import "ppscript/runtime/event"

// A Drain reads the rings of a source one after another. Events of one ring
// stay in order; between rings there is none.
type Drain struct {
	src   event.Source
	evs   [chunk]event.Event
	ptrs  [chunk]*event.Event
	rings []cursor // for their last times
	stats Stats
}

// NewDrain returns a Drain over src.
func NewDrain(src event.Source) *Drain {
	d := &Drain{src: src}
	for i := range d.evs {
		d.ptrs[i] = &d.evs[i]
	}
	return d
}

// Round hands out everything visible.
func (d *Drain) Round(sink func([]*event.Event), final bool) {
	for i, r := range d.src.Rings() {
		_, visible := r.Bounds()
		for r.Pos() < visible {
			n := r.Read(d.evs[:], visible)
			if n == 0 {
				break
			}
			for len(d.rings) <= i {
				d.rings = append(d.rings, cursor{index: int32(len(d.rings))})
			}
			d.rings[i].date(d.evs[:n])
			for j := range d.evs[:n] {
				if d.evs[j].Kind == event.Sample {
					d.stats.Events++
				}
			}
			sink(d.ptrs[:n])
			r.Release()
		}
		r.Release()
	}
}

// Stats returns the counters.
func (d *Drain) Stats() Stats { return d.stats }
