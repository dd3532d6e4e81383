package load

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ppscript/runtime/agg"
)

// This file lets a budget decide which events count: one of so many by chance, or none for a
// while, in which the programs are not called at all.

// A Budget is a Run whose events have weights: Part.Weighed of package bpf.
type Budget struct{ *Run }

// Weigh has each event that counts stand for n, a power of two; with 0 none counts.
func (r Budget) Weigh(n uint64) error {
	if err := r.words(WeightMap.Of()).update(make([]byte, 4), []uint64{n}); err != nil {
		return fmt.Errorf("set the share of events that count: %w", err)
	}
	return nil
}

// Hits are those of programs so far, of which a budget may have left some out.
type Hits struct {
	N           uint64
	Timed, Time uint64 // of some: how many, and what they took, ns
	Toll        uint64 // what all cost beside the programs, ns
	CPUs        []CPUHits
}

// CPUHits are those of a CPU.
type CPUHits struct{ N, Toll uint64 }

// Hits counts the hits of all programs. toll is what one of a program costs beside it.
func (r Budget) Hits(toll func(p *Program) time.Duration) (h Hits, err error) {
	n := Stats(len(r.im.Tables))
	h.CPUs = make([]CPUHits, r.cpus)
	for i := range r.im.Programs {
		p := &r.im.Programs[i]
		if p.Event < 0 || r.maps[StatsMap.Of(p.Event)] == nil {
			continue
		}
		each := uint64(toll(p))
		err = errors.Join(err, r.words(StatsMap.Of(p.Event)).each(func(_ int, values []uint64) {
			for cpu := range h.CPUs {
				of := values[cpu*n:]
				h.N += of[StatHits]
				h.Timed += of[StatTimed]
				h.Time += of[StatTime]
				h.Toll += each * of[StatHits]
				h.CPUs[cpu].N += of[StatHits]
				h.CPUs[cpu].Toll += each * of[StatHits]
			}
		}))
	}
	if err != nil {
		err = fmt.Errorf("read hits: %w", err)
	}
	return h, err
}

// Pause detaches the programs of events. What they counted stays to be read. Those that follow
// the target go on.
func (r Budget) Pause() error {
	if r.state.stopped || r.state.paused {
		return nil
	}
	r.state.paused = true
	r.missing.end()
	var errs []error
	for _, detach := range slices.Backward(r.links[r.state.own:]) {
		errs = append(errs, detach())
	}
	r.links = r.links[:r.state.own]
	return errors.Join(errs...)
}

// Resume attaches them again.
func (r Budget) Resume() error {
	if r.state.stopped || !r.state.paused {
		return nil
	}
	clear(r.state.together)
	r.state.together = sessions(r.Run, r.im.Target)
	if err := attachAll(r.Run, r.im.Target, func(p *Program) bool { return p.Event >= 0 }); err != nil {
		return err
	}
	r.state.paused = false
	return nil
}

// spread is how uncertain the numbers of an argument are.
func (a *Arg) spread(row []uint64) (s agg.Spread) {
	s.N = float64(row[(a.Spread+SpreadN)/8])
	if a.Sum >= 0 {
		s.Sum = float64(row[(a.Spread+SpreadLow)/8]) +
			float64(row[(a.Spread+SpreadHigh)/8])*(1<<(2*SpreadShift))
	}
	return s
}
