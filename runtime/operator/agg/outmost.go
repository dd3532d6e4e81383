package agg

import "ppscript/runtime/event"

// AtMax and AtMin keep a value from the event with the largest or smallest rank, which is another
// number of the event. Scripts reach them as parameters of max and min.
var (
	AtMax = &Op{
		Name:   "max of",
		Column: Column{Width: 12, Stacks: true, Values: true},
		New:    func(*Agg, *Workspace) State { return &outmost{sign: 1} },
		Kernel: &KernelState{Greatest: true},
	}
	AtMin = &Op{
		Name:   "min of",
		Column: Column{Width: 12, Stacks: true, Values: true},
		New:    func(*Agg, *Workspace) State { return &outmost{sign: -1} },
		Kernel: &KernelState{Least: true},
	}
)

// outmost keeps the value with the largest rank if sign is 1, with the smallest if it is -1. For
// equal ranks it keeps the first value.
type outmost struct {
	sign  int
	value event.Value
	rank  event.Number
	seen  bool
}

// AddRanked adds a value with its rank.
func (o *outmost) AddRanked(rank event.Number, v event.Value) {
	if !o.seen || o.sign*rank.Compare(o.rank) > 0 {
		o.value, o.rank, o.seen = v, rank, true
	}
}

// Add implements State; the Group calls AddRanked.
func (*outmost) Add(event.Number) { panic("BUG: a value without rank") }

// AddPartial implements partialState.
func (o *outmost) AddPartial(p *Partial, arg int) {
	of := p.Greatest
	if o.sign < 0 {
		of = p.Least
	}
	o.AddRanked(of[arg].Rank, of[arg].Value)
}

// Merge implements merger.
func (o *outmost) Merge(from State) {
	if f := from.(*outmost); f.seen {
		o.AddRanked(f.rank, f.value)
	}
}

func (o *outmost) Cell() event.Value { return o.value }
func (o *outmost) Reset()            { *o = outmost{sign: o.sign} }
