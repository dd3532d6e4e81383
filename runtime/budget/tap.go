package budget

import (
	"time"

	"ppscript/bpf/load"
	"ppscript/bpf/toll"
	"ppscript/runtime/agg"
)

// A tap is where a Governor has events left out, and learns how many there were.
type tap interface {
	// ByKey says that something relates events.
	ByKey() bool
	// inPerson says that ppscript itself gets the events: its own time follows them. All it can do
	// is to have none come for a while.
	inPerson() bool
	// Weigh has each event that counts stand for n, with 0 none counts; it returns since when.
	Weigh(n uint64) (time.Time, error)
	Hits() (load.Hits, error)
	// clock is what reading the time costs, which is in the times of hits.
	clock() time.Duration
	// Pause and Resume detach and attach who counts.
	Pause() error
	Resume() error
	// Rows hands out the rows that were counted elsewhere.
	Rows(number func(*load.Stack) uint64, to func(*agg.Spec, *agg.Partial)) error
}

// programs are those of the kernel.
type programs struct {
	load.Budget
	tolls toll.Tolls
}

func (p *programs) inPerson() bool           { return false }
func (p *programs) clock() time.Duration     { return p.tolls.Clock }
func (p *programs) Hits() (load.Hits, error) { return p.Budget.Hits(p.tolls.Of) }

func (p *programs) Weigh(n uint64) (time.Time, error) {
	err := p.Budget.Weigh(n)
	return time.Now(), err
}

// Rings are where events come to ppscript one by one.
type Rings struct {
	// Relates says that something relates the events.
	Relates bool
	// Turn has events come, or none; what came before has been taken when it returns. It tells since
	// when.
	Turn func(on bool) (time.Time, error)
	// Traffic is what came so far.
	Traffic func() Traffic

	record toll.Records
	off    bool
}

// Traffic is what came through rings.
type Traffic struct {
	Rings  []RingTraffic
	Lost   uint64 // for want of room
	Halves uint64 // events whose partner was not seen
}

// RingTraffic is that of a ring, and so of a CPU or thread.
type RingTraffic struct{ Records, Bytes uint64 }

// GovernRings begins to keep a run in a share of the CPUs' time that takes events from rings.
func GovernRings(share float64, r *Rings) (*Governor, error) { return govern(share, r) }

// MeasureRings finds out what records cost, in some milliseconds. It makes some system calls.
func MeasureRings() *Rings { return &Rings{record: toll.MeasureRecords()} }

// ByKey implements tap.
func (r *Rings) ByKey() bool          { return r.Relates }
func (r *Rings) inPerson() bool       { return true }
func (r *Rings) clock() time.Duration { return 0 }

// Weigh implements tap.
func (r *Rings) Weigh(n uint64) (time.Time, error) {
	if r.off == (n == 0) {
		return time.Now(), nil
	}
	r.off = n == 0
	return r.Turn(!r.off)
}

// Hits implements tap: each record is one.
func (r *Rings) Hits() (h load.Hits, err error) {
	t := r.Traffic()
	h.Halves = t.Halves
	for _, ring := range t.Rings {
		of := load.CPUHits{N: ring.Records, Toll: r.record.Of(ring.Records, ring.Bytes)}
		h.N += of.N
		h.Toll += of.Toll
		h.CPUs = append(h.CPUs, of)
	}
	h.Offered, h.Stood = h.N+t.Lost, h.N
	return h, nil
}

// Pause implements tap: there is nothing to detach.
func (r *Rings) Pause() error { return nil }

// Resume implements tap.
func (r *Rings) Resume() error { return nil }

// Rows implements tap: there are none.
func (r *Rings) Rows(func(*load.Stack) uint64, func(*agg.Spec, *agg.Partial)) error { return nil }
