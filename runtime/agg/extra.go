package agg

import (
	"math/bits"

	"ppscript/runtime/event"
	"ppscript/runtime/key"
)

// distinctLimit and listLimit bound what one Distinct or List remembers.
const (
	distinctLimit = 1 << 16
	listLimit     = 1 << 12
)

// extra is the state of one aggregator in one row beyond its measure. Only
// the member that the Op needs is there.
type extra struct {
	sketch *Sketch
	hist   []uint64 // Hist: by bit length, negative values in 0; LHist: by step, with under- and overflow
	value  event.Value
	seen   bool
	set    map[string]struct{}
	list   []event.Value
	top    *counts
}

func (x *extra) add(a *Agg, g *Group, v int64) {
	switch a.Op {
	case Quantile:
		if x.sketch == nil {
			x.sketch = new(Sketch)
		}
		x.sketch.Add(v)
	case Hist:
		if x.hist == nil {
			x.hist = make([]uint64, 65)
		}
		b := 0
		if v > 0 {
			b = bits.Len64(uint64(v))
		}
		x.hist[b]++
	case LHist:
		if x.hist == nil {
			x.hist = make([]uint64, (a.Hi-a.Lo+a.Step-1)/a.Step+2)
		}
		x.hist[lbucket(a, v)]++
	case Last:
		x.value, x.seen = a.value(v), true
	case First:
		if !x.seen {
			x.value, x.seen = a.value(v), true
		}
	case Distinct:
		x.distinct(g, event.IntOf(v))
	case List:
		x.append(g, a.value(v))
	case Top:
		x.count(g, a.value(v))
	}
}

func (x *extra) addText(a *Agg, g *Group, v event.Value) {
	switch {
	case a.Op == Last, a.Op == First && !x.seen:
		x.value, x.seen = v, true
	case a.Op == Distinct:
		x.distinct(g, v)
	case a.Op == List:
		x.append(g, v)
	case a.Op == Top:
		x.count(g, v)
	}
}

func (x *extra) distinct(g *Group, v event.Value) {
	if x.set == nil {
		x.set = make(map[string]struct{})
	}
	g.pack = key.AppendValue(g.pack[:0], v)
	if _, there := x.set[string(g.pack)]; there {
		return
	}
	if len(x.set) >= distinctLimit {
		g.evicted++
		return
	}
	x.set[string(g.pack)] = struct{}{}
}

func (x *extra) append(g *Group, v event.Value) {
	if len(x.list) >= listLimit {
		g.evicted++
		return
	}
	x.list = append(x.list, v)
}

// reset empties the state and keeps what it allocated, if that was of use.
func (x *extra) reset() {
	if x.sketch != nil {
		x.sketch.Reset()
	}
	clear(x.hist)
	if len(x.set) == 0 {
		x.set = nil
	}
	clear(x.set)
	if x.top != nil && len(x.top.n) == 0 {
		x.top = nil
	} else if x.top != nil {
		x.top.reset()
	}
	x.list = nil // handed out with the row
	x.value, x.seen = event.Value{}, false
}

func lbucket(a *Agg, v int64) int64 {
	switch {
	case v < a.Lo:
		return 0
	case v >= a.Hi:
		return (a.Hi-a.Lo+a.Step-1)/a.Step + 1
	}
	return (v-a.Lo)/a.Step + 1
}
