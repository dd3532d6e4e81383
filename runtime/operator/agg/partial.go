package agg

import (
	"encoding/binary"
	"errors"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/key"
)

// A Partial is a part of one row that a program of the kernel counted on one
// CPU. Partials of one key add up.
type Partial struct {
	Key []byte // as key.Append packs the columns
	// Other says that the partial is for all keys that found no room in the
	// kernel's map.
	Other    bool
	First    event.Time
	Hits     uint64    // events of the row
	Measures []Measure // one for each of Spec.Args
	// Spreads are the variances of the Measures; nil if all events counted.
	Spreads []Spread
	// Keys are the variances if a budget leaves out whole keys instead of
	// events.
	Keys []KeySpread
	// CPU is the CPU that counted the partial.
	CPU int
	// Slot is the slot of time of the partial, which stands for a longer time; nil if there
	// are no slots.
	Slot *Slot
	// Hists are the counters of histograms, by Spec.Args; nil for an argument
	// without one. Hist has 65 counters, by bit length; LHist has one for each
	// step and two more.
	Hists [][]uint64
	// Values and Buckets are the first values of quantiles, at most ExactValues, and the counters of the
	// others, one list for each argument.
	Values  [][]ExactCount
	Buckets [][]BucketCount
	// Oldest and Newest are one value for each of Spec.Args; nil if no aggregator
	// needs them.
	Oldest, Newest []Pick
	// Greatest and Least are one value for each of the Args that have a Rank.
	Greatest, Least []Pick
}

// A Pick is one value of a row, a number or a text, with its time or its rank.
type Pick struct {
	Time  event.Time
	Rank  event.Number
	Value event.Value
}

// A BucketCount is one counter of a Sketch: the number of values whose
// magnitude is in a Bucket.
type BucketCount struct {
	Bucket   int
	Negative bool
	N        uint64
}

// An ExactCount is a value and how often it came.
type ExactCount struct {
	Value event.Number
	N     uint64
}

// count moves the Values into Buckets.
func (p *Partial) count() {
	for i, list := range p.Values {
		for _, v := range list {
			size, negative := v.Value.Magnitude()
			p.Buckets[i] = append(p.Buckets[i], BucketCount{Bucket: Bucket(size), Negative: negative, N: v.N})
		}
	}
	p.Values = nil
}

// AddPartial adds p to the row of its key. Rows come in the order in which
// they are added first.
func (g *Group) AddPartial(p *Partial) {
	g.events += p.Hits
	var r int32
	var fresh bool
	switch {
	case p.Other && (g.ints != nil || g.texts != nil): // counted as evicted where the partial was made
		g.others().AddPartial(p)
		return
	case g.ints != nil:
		r, fresh = g.ints.Insert(int64(binary.LittleEndian.Uint64(p.Key)))
	case g.texts != nil:
		r, fresh = g.texts.Insert(p.Key)
	default:
		fresh = len(g.rows) == 0
	}
	if r == key.None {
		g.work.evicted += p.Hits
		g.others().AddPartial(p)
		return
	}
	if fresh {
		g.fresh(r, &event.Event{Time: p.First})
	}
	if p.Spreads != nil || p.Keys != nil {
		g.doubt(r, p)
	}
	for i := range g.spec.Args {
		g.measures[int(r)*len(g.spec.Args)+i].Merge(&p.Measures[i])
		if p.Measures[i].N == 0 {
			continue
		}
		for _, slot := range g.spec.Args[i].slots {
			// An aggregator that the kernel keeps implements partialState.
			g.states[int(r)*g.stride+slot].(partialState).AddPartial(p, i)
		}
	}
}

// ErrElsewhere is reported for failed evaluations in programs of the kernel, which count
// errors without their text.
var ErrElsewhere = errors.New(
	"an expression failed inside the kernel: a division by zero, an overflow, or a text that is too long; " +
		"--engine perf says which",
)

// AddLoss adds the events that the partials do not contain.
func (g *Group) AddLoss(l event.Loss) {
	g.work.evicted += l.Evicted
	if g.errs.N += l.Errors; l.Errors > 0 && g.errs.First == nil {
		g.errs.First = ErrElsewhere
	}
}
