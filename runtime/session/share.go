package session

import (
	"runtime"
	"sync"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/plan"
)

// This file lets several readers share the rings of a source, so that one core is
// not the limit on a large machine. Each reader has an instance of the plan and a
// part of the rings; at every interval the tables are added up. It is done only if
// that gives the same result: see plan.Shareable. Readers take cores from other
// work of the machine, so there is one for every eight rings, and at most four.

const (
	ringsPerReader = 8
	maxReaders     = 4
)

// sharedFeeder feeds events through several readers. Reader 0 uses the run's
// own instance.
type sharedFeeder struct {
	readers []*reader
}

type reader struct {
	instance *plan.Instance
	drain    *order.Drain
}

// readersFor returns the number of readers for a number of rings.
func readersFor(rings int) int {
	return max(1, min(rings/ringsPerReader, maxReaders, runtime.GOMAXPROCS(0)-1))
}

// share makes a feeder with n readers, of which the first has the run's
// instance.
func share(src event.Source, in *plan.Instance, n int) *sharedFeeder {
	s := &sharedFeeder{}
	for i := range n {
		mine := in
		if i > 0 {
			mine = in.Another()
		}
		s.readers = append(s.readers, &reader{mine, order.NewDrain(&part{Source: src, n: n, i: i})})
	}
	return s
}

// part has every n-th ring of a source, beginning with ring i.
type part struct {
	event.Source
	n, i  int
	rings []event.Ring
}

// Rings returns the rings of the part.
func (p *part) Rings() []event.Ring {
	all := p.Source.Rings()
	for have := p.i + p.n*len(p.rings); have < len(all); have += p.n {
		p.rings = append(p.rings, all[have])
	}
	return p.rings
}

// Round implements order.Feeder: all readers empty their rings.
func (s *sharedFeeder) Round(sink func([]*event.Event), final bool) {
	var wg sync.WaitGroup
	for _, r := range s.readers[1:] {
		wg.Go(func() { r.drain.Round(r.instance.Router.Events, final) })
	}
	s.readers[0].drain.Round(sink, final)
	wg.Wait()
}

// Stats implements order.Feeder.
func (s *sharedFeeder) Stats() order.Stats {
	var sum order.Stats
	for _, r := range s.readers {
		sum.Add(r.drain.Stats())
	}
	return sum
}

// absorb adds the counts of the other readers to the run's own instance.
func (s *sharedFeeder) absorb() {
	for _, r := range s.readers[1:] {
		s.readers[0].instance.Absorb(r.instance)
	}
}
