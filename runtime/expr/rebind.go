package expr

import (
	"math"
	"strings"
)

// Name is the name of the part in expressions: "start", or "start.end" of a pair of pairs; "" is the event.
func (p Part) Name() string { return strings.TrimSuffix(p.String(), ".") }

// PartNamed returns the part with such a name.
func PartNamed(name string) Part {
	p := Self
	for step := range strings.SplitSeq(name, ".") {
		switch step {
		case "start":
			p = Start.within(p)
		case "end":
			p = End.within(p)
		}
	}
	return p
}

// Rebind returns a copy of n that reads fields of part p where n reads those of
// part from. So a value that was defined for the events of a stage (Self) can
// be used for their pairs (Start or End), and the reverse.
func Rebind(n Node, from, p Part) Node {
	if n == nil || p == from {
		return n
	}
	re := func(x Node) Node { return Rebind(x, from, p) }
	all := func(xs []Node) []Node {
		out := make([]Node, len(xs))
		for i, x := range xs {
			out[i] = re(x)
		}
		return out
	}
	switch n := n.(type) {
	case *Const:
		// An address inside the event's own record.
		if rel := uint64(n.Int) - recordBase; n.T == TUint && rel>>partShift <= math.MaxUint8 {
			if inner, ok := Part(rel >> partShift).From(from); ok {
				c := *n
				c.Int = int64(recordBase + uint64(inner.within(p))<<partShift + rel&(1<<partShift-1))
				return &c
			}
		}
		return n
	case *Field:
		if inner, ok := n.Part.From(from); ok {
			c := *n
			c.Part = inner.within(p)
			return &c
		}
		return n
	case *Mem:
		c := *n
		c.Addr = re(n.Addr)
		return &c
	case *CStr:
		return &CStr{re(n.Addr)}
	case *KernelInt:
		c := *n
		c.Addr = re(n.Addr)
		return &c
	case *KernelText:
		c := *n
		c.Addr = re(n.Addr)
		return &c
	case *ProcessArea:
		return &ProcessArea{re(n.From), re(n.To), n.Size}
	case *KernelPath:
		c := *n
		c.Dentry, c.Mount, c.Super = re(n.Dentry), re(n.Mount), re(n.Super)
		return &c
	case *CPUDistance:
		return &CPUDistance{re(n.CPU)}
	case *MemBytes:
		return &MemBytes{re(n.Addr), re(n.Len)}
	case *StrAt:
		c := *n
		c.X, c.I = re(n.X), re(n.I)
		return &c
	case *Slice:
		c := *n
		c.X = re(n.X)
		return &c
	case *TextOp:
		c := *n
		c.X, c.Args = re(n.X), all(n.Args)
		return &c
	case *Unary:
		c := *n
		c.X = re(n.X)
		return &c
	case *Binary:
		c := *n
		c.X, c.Y = re(n.X), re(n.Y)
		return &c
	case *Ext:
		c := *n
		c.X = re(n.X)
		return &c
	case *Cond:
		return &Cond{re(n.Test), re(n.Then), re(n.Else)}
	case *Set:
		c := *n
		c.X = re(n.X)
		return &c
	case *Seq:
		return &Seq{all(n.List), n.T}
	case *If:
		return &If{re(n.Test), re(n.Then), re(n.Else)}
	case *Return:
		return &Return{re(n.X)}
	case *Func:
		return &Func{re(n.Body), n.T}
	case *StoreState:
		c := *n
		c.X = re(n.X)
		return &c
	case *LoadElem:
		c := *n
		c.I = re(n.I)
		return &c
	case *StoreElem:
		c := *n
		c.X, c.I = re(n.X), re(n.I)
		return &c
	case *Emit:
		c := *n
		c.Args = all(n.Args)
		return &c
	case *Native:
		c := *n
		c.Args = all(n.Args)
		if d, ok := n.Data.(*NameOf); ok {
			c = symbolicOf(d.Schema, c.Args[0].(*Field))
		}
		switch {
		case n.Is(Interprets):
			c.rebind(n, from, p)
		case n.Is(ReadsProcess):
			c.rebindText()
		}
		return &c
	case *Quantity:
		return &Quantity{re(n.X), n.Unit}
	case *TupleOf:
		return &TupleOf{all(n.Elems)}
	}
	return n
}

// rebind makes an interpreted function read a part instead of the event, or the
// event again.
func (n *Native) rebind(of *Native, from, p Part) {
	if p == Self { // undo the bindings step by step
		for ; from != Self; from >>= partBits {
			*n = *n.Data.(*Native)
		}
		return
	}
	n.Data = of
	if of.Int != nil {
		n.Int = func(f *Frame, args []Arg) int64 {
			e := f.Event
			defer func() { f.Event = e }()
			if f.Event = f.part(p); f.Event == nil {
				return 0
			}
			return of.Int(f, args)
		}
	}
	if of.Str != nil {
		n.Str = func(f *Frame, args []Arg) []byte {
			e := f.Event
			defer func() { f.Event = e }()
			if f.Event = f.part(p); f.Event == nil {
				return nil
			}
			return of.Str(f, args)
		}
	}
}
