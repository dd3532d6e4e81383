package order

import "ppscript/runtime/event"

// A Drain reads the rings of a source one after another. Events of one ring
// stay in order; between rings there is none.
type Drain struct {
	src   event.Source
	block block
	ptrs  [chunk]*event.Event
	last  []event.Time // by ring: of its last record
	stats Stats
}

// NewDrain returns a Drain over src.
func NewDrain(src event.Source) *Drain {
	d := &Drain{src: src, block: block{evs: make([]event.Event, chunk)}}
	for i := range d.block.evs {
		d.ptrs[i] = &d.block.evs[i]
	}
	return d
}

// Round hands out everything visible.
func (d *Drain) Round(sink func([]*event.Event), final bool) {
	for i, r := range d.src.Rings() {
		_, visible := r.Bounds()
		for r.Pos() < visible {
			n := r.Read(d.block.evs, visible)
			if n == 0 {
				break
			}
			for len(d.last) <= i {
				d.last = append(d.last, 0)
			}
			d.last[i] = d.block.date(n, int32(i), d.last[i])
			for j := range d.block.evs[:n] {
				if d.block.evs[j].Kind == event.Sample {
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
