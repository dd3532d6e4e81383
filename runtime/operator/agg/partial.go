package agg

import (
	"encoding/binary"
	"errors"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/key"
)

// A Partial is a part of one row that somebody else counted: the kernel, on
// one CPU. Partials of one key add up.
type Partial struct {
	Key []byte // as key.Append packs the columns
	// Other says that it is of all keys that found no room there.
	Other    bool
	First    event.Time
	Hits     uint64    // events of the row
	Measures []Measure // one for each of Spec.Args
	// Spreads are how uncertain the Measures are; nil if all events counted.
	Spreads []Spread
	// Keys are likewise, where keys count with all their events, or do not.
	Keys []KeySpread
	// CPU is where it was counted.
	CPU int
	// Slot is of a slot of time, for more of which the partial stands; nil if it is of none.
	Slot *Slot
	// Hists are the counters of histograms, one for each of Spec.Args; nil
	// where there is none. Hist has 65, by bit length, LHist as many as it
	// has steps and two more.
	Hists [][]uint64
	// Values and Buckets are the first values of quantiles, at most ExactValues, and the counters of the
	// others, one list for each argument.
	Values  [][]ExactCount
	Buckets [][]BucketCount
	// Oldest and Newest are one value of each of Spec.Args; nil if nobody wants them.
	Oldest, Newest []Pick
	// Greatest and Least are likewise, of the Args that have a Rank.
	Greatest, Least []Pick
}

// A Pick is one value of a row, a number or a text, with its time or its rank.
type Pick struct {
	Time  event.Time
	Rank  event.Number
	Value event.Value
}

// A BucketCount is a counter of a Sketch: of the values whose magnitude is in
// a Bucket.
type BucketCount struct {
	Bucket   int
	Negative bool
	N        uint64
}

// An ExactCount is how often a value was there.
type ExactCount struct {
	Value event.Number
	N     uint64
}

// count moves the Values to their Buckets.
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
	case p.Other && (g.ints != nil || g.texts != nil): // the machine that counted it says that it is evicted
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
			// The kernel keeps only numbers that have a Kept, and these add up.
			g.states[int(r)*g.stride+slot].(partialState).AddPartial(p, i)
		}
	}
}

// ErrElsewhere stands for an error of a program of the kernel, which only counts its errors.
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
