package expr

import (
	"fmt"

	"ppscript/runtime/event"
)

// This file makes the nodes of statements, state and calls; see build.go.

// NewSet assigns a local variable; its value is the assigned value.
func NewSet(index int, name string, x Node) (Node, error) {
	if k := x.Type().Kind; k == Void || k == Tuple {
		return nil, fmt.Errorf("a %s cannot be kept in a variable", x.Type())
	}
	return &Set{index, name, x}, nil
}

// NewLocal reads a local variable.
func NewLocal(index int, name string, t Type) Node { return &Local{index, t, name} }

// NewSeq is C's comma operator: it evaluates all nodes, and has the value of
// the last.
func NewSeq(list ...Node) (Node, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("nothing to evaluate")
	}
	var keep []Node
	for i, n := range list {
		if i == len(list)-1 || !Pure(n) {
			keep = append(keep, n)
		}
	}
	if len(keep) == 1 {
		return keep[0], nil
	}
	return &Seq{keep, keep[len(keep)-1].Type()}, nil
}

// NewAfter evaluates nodes that may fail, and then has the value of another
// node.
func NewAfter(list []Node, x Node) Node {
	if len(list) == 0 {
		return x
	}
	return &Seq{append(list[:len(list):len(list)], x), x.Type()}
}

// NewBlock is a list of statements. Expressions in it are evaluated for
// their effect.
func NewBlock(list ...Node) Node { return &Seq{list, TVoid} }

// NewIf is the statement if; other, for else, may be nil.
func NewIf(test, then, other Node) (Node, error) {
	test, err := NewUnary(OpTruth, test)
	if err != nil {
		return nil, err
	}
	if c, ok := test.(*Const); ok {
		switch {
		case c.Int != 0:
			return then, nil
		case other != nil:
			return other, nil
		}
		return NewBlock(), nil
	}
	return &If{test, then, other}, nil
}

// NewReturn ends the Func around it; x is nil if the Func has no value.
func NewReturn(x Node) Node { return &Return{x} }

// NewFunc makes an expression of statements, whose value is the value of a
// Return. All Returns must be of kind t.Kind; integers and bools are converted.
func NewFunc(body Node, t Type) (Node, error) {
	var err error
	Walk(body, func(n Node) bool {
		if _, inner := n.(*Func); inner {
			return false
		}
		r, ok := n.(*Return)
		if !ok || err != nil {
			return err == nil
		}
		have := TVoid
		if r.X != nil {
			have = r.X.Type()
		}
		if have.Kind != t.Kind && !(have.Numeric() && t.Numeric()) {
			err = fmt.Errorf("function returns a %s here and a %s there", t, have)
		}
		return true
	})
	if t.Kind == Tuple {
		err = fmt.Errorf("a function with statements cannot return a tuple")
	}
	if err != nil {
		return nil, err
	}
	// A body that is only a Return is replaced by its value.
	if s, ok := body.(*Seq); ok && len(s.List) == 1 {
		body = s.List[0]
	}
	if r, ok := body.(*Return); ok && r.X != nil && r.X.Type() == t {
		return r.X, nil
	}
	return &Func{body, t}, nil
}

// NewLoadState reads a slot of Frame.State, or of Frame.Texts if t is Str.
func NewLoadState(slot int, t Type) (Node, error) {
	if !t.Numeric() && t.Kind != Str || slot < 0 {
		return nil, fmt.Errorf("state can only hold integers and texts")
	}
	return &LoadState{slot, t}, nil
}

// NewStoreState writes a slot of Frame.State, or of Frame.Texts if x is a Str.
func NewStoreState(slot int, x Node) (Node, error) {
	if t := x.Type(); !t.Numeric() && t.Kind != Str || slot < 0 {
		return nil, fmt.Errorf("state can only hold integers and texts, not a %s", t)
	}
	return &StoreState{slot, x}, nil
}

// NewLoadElem reads element i of the list of size numbers that begins at a slot
// of Frame.State; i may count from the end.
func NewLoadElem(slot, size int, t Type, i Node) (Node, error) {
	if !t.Numeric() || slot < 0 || size < 1 {
		return nil, fmt.Errorf("a list of the state can only hold integers")
	}
	i, err := elemIndex(i)
	if err != nil {
		return nil, err
	}
	if c, ok := i.(*Const); ok {
		if at, ok := elemAt(c.Int, size); ok {
			return NewLoadState(slot+at, t)
		}
	}
	return &LoadElem{slot, size, t, i}, nil
}

// NewStoreElem writes an element of a list, see NewLoadElem. x is evaluated
// before i.
func NewStoreElem(slot, size int, i, x Node) (Node, error) {
	if t := x.Type(); !t.Numeric() || slot < 0 || size < 1 {
		return nil, fmt.Errorf("a list of the state can only hold integers, not a %s", t)
	}
	i, err := elemIndex(i)
	if err != nil {
		return nil, err
	}
	if c, ok := i.(*Const); ok {
		if at, ok := elemAt(c.Int, size); ok {
			return NewStoreState(slot+at, x)
		}
	}
	return &StoreElem{slot, size, x, i}, nil
}

// elemIndex converts the index of an element to a signed integer.
func elemIndex(i Node) (Node, error) {
	if i.Type().Kind != Int {
		return nil, fmt.Errorf("a %s is no index", i.Type())
	}
	if c, ok := i.(*Const); ok && c.Int >= 0 {
		return NewInt(c.Int), nil
	}
	return NewUnary(OpSigned, i)
}

// elemAt is the position of element i in a list of size numbers; false if i is
// out of range.
func elemAt(i int64, size int) (at int, ok bool) {
	if i < 0 {
		i += int64(size)
	}
	return int(i), uint64(i) < uint64(size)
}

// NewEmit calls Frame.Emit with the id and the values.
func NewEmit(id int, names []string, args ...Node) (Node, error) {
	for _, a := range args {
		if k := a.Type().Kind; k == Void || k == Tuple {
			return nil, fmt.Errorf("a %s cannot be emitted", a.Type())
		}
	}
	return &Emit{id, names, args}, nil
}

// NewNative calls Go code; exactly one function of n must be set and must fit
// n.T, and either n.Kernel or n.HostOnly. Calls with constant arguments are folded unless n.Effect.
func NewNative(n Native) (Node, error) {
	set := 0
	for _, b := range []bool{n.Int != nil, n.Int1 != nil, n.Str != nil, n.Str1 != nil, n.Float != nil} {
		if b {
			set++
		}
	}
	text := n.Str != nil || n.Str1 != nil
	one := n.Int1 != nil || n.Str1 != nil
	if set != 1 || text != (n.T.Kind == Str) || !text && !n.T.Numeric() && n.T.Kind != Float ||
		(n.Float != nil) != (n.T.Kind == Float) || one && len(n.Args) != 1 {
		panic("BUG: native " + n.Name + " is not whole")
	}
	n.check()
	for i, a := range n.Args {
		k := a.Type().Kind
		if k == Void || k == Tuple || one && !a.Type().Numeric() {
			return nil, fmt.Errorf("argument %d of %s: got a %s", i+1, n.Name, a.Type())
		}
	}
	return &n, nil
}

// NewQuantity gives an integer a unit.
func NewQuantity(x Node, unit event.Unit) (Node, error) {
	if x.Type().Kind != Int {
		return nil, fmt.Errorf("a %s measures nothing", x.Type())
	}
	if f, ok := x.(*Field); ok && f.View == ViewValue && f.F.Unit == unit {
		return x, nil
	}
	return &Quantity{x, unit}, nil
}

// UnitOf is the unit of a node, if it is a field or a Quantity.
func UnitOf(n Node) event.Unit {
	switch n := n.(type) {
	case *Field:
		if n.View == ViewValue {
			return n.F.Unit
		}
	case *Quantity:
		return n.Unit
	}
	return event.NoUnit
}

// NewTuple is a composite key.
func NewTuple(elems ...Node) (Node, error) {
	for _, e := range elems {
		if k := e.Type().Kind; k == Void || k == Tuple {
			return nil, fmt.Errorf("a %s cannot be part of a key", e.Type())
		}
	}
	return &TupleOf{elems}, nil
}

// NewSlice is x[lo:hi]; see Slice.
func NewSlice(x Node, lo, hi int, noHi bool) (Node, error) {
	if x.Type().Kind != Str {
		return nil, fmt.Errorf("a %s cannot be sliced", x.Type())
	}
	return Fold(&Slice{x, lo, hi, noHi}), nil
}

// NewStrAt is a byte of a text; its NUL can be read too.
func NewStrAt(x, i Node, signed bool) (Node, error) {
	if x.Type().Kind != Str || !i.Type().Numeric() {
		return nil, fmt.Errorf("a %s cannot be indexed by a %s", x.Type(), i.Type())
	}
	return Fold(&StrAt{x, ToInt(i), signed}), nil
}

// NewMem, NewCStr and NewMemBytes read a record's memory; see RecordAddr.
func NewMem(addr Node, size int, signed bool) (Node, error) {
	if !addr.Type().Numeric() || size != 1 && size != 2 && size != 4 && size != 8 {
		return nil, fmt.Errorf("cannot read %d bytes at a %s", size, addr.Type())
	}
	return &Mem{addr, size, signed}, nil
}

func NewCStr(addr Node) (Node, error) {
	if !addr.Type().Numeric() {
		return nil, fmt.Errorf("a %s is not an address", addr.Type())
	}
	return &CStr{addr}, nil
}

func NewMemBytes(addr, n Node) (Node, error) {
	if !addr.Type().Numeric() || !n.Type().Numeric() {
		return nil, fmt.Errorf("cannot read %s bytes at a %s", n.Type(), addr.Type())
	}
	return &MemBytes{addr, n}, nil
}
