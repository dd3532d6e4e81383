package budget

import (
	"time"

	"ppscript/bpf/hookcost"
	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
)

// Rings lets a Governor control events that come to ppscript one by one.
type Rings struct {
	// Relates says that some operator relates the events.
	Relates bool
	// Turn switches events on or off, and returns the time of the switch. When it returns, earlier
	// events have been handled.
	Turn func(on bool) (time.Time, error)
	// Traffic returns the traffic so far.
	Traffic func() Traffic

	record hookcost.Records
	off    bool
	since  time.Time // when they were switched on or off
	before []uint64  // records of each ring at that time
	// rate is the number of events a ns in the last slots, which is also assumed for gaps, where
	// each event costs its hook. idled is their cost in past gaps, ns.
	rate, idled float64
	// alarmed is the total cost at which the alarm rings, ns; 0 is never.
	alarmed uint64
}

// Traffic counts the events that came through rings.
type Traffic struct {
	Rings  []RingTraffic
	Woken  uint64 // fill of one ring at which the reader is woken, bytes
	Lost   uint64 // lost since a ring was full
	Halves uint64 // events whose partner was not seen
}

// RingTraffic is the traffic of one ring, which belongs to a CPU or a thread.
type RingTraffic struct{ Records, Bytes uint64 }

// GovernRings starts a Governor for a run that reads rings; it keeps the run in a share of the CPUs' time.
func GovernRings(share float64, r *Rings) (*Governor, error) { return govern(share, r) }

// MeasureRings measures the cost of records with some sample members, for events on some hooks.
// It takes some milliseconds and makes system calls for the test.
func MeasureRings(sampleType uint64, hooks ...hookcost.Hook) *Rings {
	return &Rings{record: hookcost.MeasureRecords(sampleType, hooks...)}
}

// ByKey implements tap.
func (r *Rings) ByKey() bool          { return r.Relates }
func (r *Rings) inPerson() bool       { return true }
func (r *Rings) begin()               { r.turned(time.Now()) }
func (r *Rings) clock() time.Duration { return 0 }

// Weigh implements tap.
func (r *Rings) Weigh(n uint64) (time.Time, error) {
	if r.off == (n == 0) {
		return time.Now(), nil
	}
	r.off = n == 0
	at, err := r.Turn(!r.off)
	if r.off {
		r.measureRate(at)
	} else {
		r.idled += r.idle() * float64(at.Sub(r.since))
	}
	r.turned(at)
	return at, err
}

// turned notes the time at which events were switched on or off, or the run began.
func (r *Rings) turned(at time.Time) {
	r.since, r.before = at, r.before[:0]
	for _, ring := range r.Traffic().Rings {
		r.before = append(r.before, ring.Records)
	}
}

// measureRate estimates, from a slot that ends, the rate of events in gaps. It is higher than in
// the slot if observing slowed the target down, by the factor of agg.Slot.
func (r *Rings) measureRate(end time.Time) {
	open := float64(end.Sub(r.since))
	if open <= 0 {
		return
	}
	rate := 0.0
	for i, ring := range r.Traffic().Rings {
		n := ring.Records
		if i < len(r.before) {
			n -= r.before[i]
		}
		traced := float64(n) * float64(r.record.Each) / open
		rate += float64(n) / open * (1 + (&agg.Slot{Traced: traced}).Slowed())
	}
	if r.rate == 0 {
		r.rate = rate
	}
	r.rate += (rate - r.rate) / 2
}

// idle implements tap.
func (r *Rings) idle() float64 { return r.rate * float64(r.record.Idle) }

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
	idled := r.idled
	if r.off {
		idled += r.idle() * float64(time.Since(r.since))
	}
	h.Toll += uint64(idled)
	h.Offered, h.Represented = h.N+t.Lost, h.N
	return h, nil
}

// unseen is the largest share of a window's budget that may be spent before the reader is woken.
const unseen = 0.1

// alarm implements tap. The kernel wakes the reader when a ring is filled up to its watermark; it
// reports whether that many events cost little enough to serve as the alarm.
func (r *Rings) alarm(spent, _ time.Duration) bool {
	r.alarmed = 0
	if spent == 0 || r.off {
		return false
	}
	t := r.Traffic()
	most := uint64(len(t.Rings)) * r.record.Of(t.Woken/max(r.record.Small(), 1), t.Woken)
	if float64(most) > unseen*float64(window)/float64(alarming)*float64(spent) {
		return false
	}
	r.alarmed = r.cost(&t) + uint64(spent)
	return true
}

// rang implements tap.
func (r *Rings) rang() bool {
	if r.alarmed == 0 {
		return false
	}
	t := r.Traffic()
	return r.cost(&t) >= r.alarmed
}

func (r *Rings) cost(t *Traffic) (ns uint64) {
	for _, ring := range t.Rings {
		ns += r.record.Of(ring.Records, ring.Bytes)
	}
	return ns
}

// Pause implements tap: there is nothing to detach.
func (r *Rings) Pause() error { return nil }

// Resume implements tap.
func (r *Rings) Resume() error { return nil }

// Rows implements tap: there are none.
func (r *Rings) Rows(func(*load.Stack) uint64, func(*agg.Spec, *agg.Partial)) error { return nil }
