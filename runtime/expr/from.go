package expr

import "ppscript/runtime/event"

// This file finds out where the values of a node come from.

// FieldOf returns the field that a node reads unchanged; nil for other nodes.
func FieldOf(n Node) *event.Field {
	x, ok := Bare(n).(*Field)
	if ok && (x.View == ViewValue || x.View == ViewBytes && x.F.Kind != event.Int) {
		return x.F
	}
	return nil
}

// Bare returns a node without the integer conversions around it.
func Bare(n Node) Node {
	for {
		switch x := n.(type) {
		case *Quantity:
			n = x.X
		case *Ext:
			n = x.X
		case *Unary:
			if x.Op != OpSigned && x.Op != OpUnsigned {
				return n
			}
			n = x.X
		default:
			return n
		}
	}
}

// Sources lists the nodes whose values a node passes on unchanged: both sides of a choice, the
// values that a function returns, the values assigned to a variable. Constants are left out, since
// they are values of the same kind as the others.
func Sources(n Node) []Node {
	from := sources{root: n}
	from.add(n)
	return from.found
}

// sources collects the Sources of a root.
type sources struct {
	root      Node
	found     []Node
	variables map[int]bool // variables that were followed already
}

func (s *sources) add(n Node) {
	switch n := n.(type) {
	case *Const:
	case *Cond:
		s.add(n.Then)
		s.add(n.Else)
	case *Set:
		s.add(n.X)
	case *Seq:
		if n.T.Kind != Void && len(n.List) > 0 {
			s.add(n.List[len(n.List)-1])
		}
	case *Func:
		s.returned(n.Body)
	case *Local:
		s.assigned(n.Index)
	default:
		s.found = append(s.found, n)
	}
}

// returned adds the values that the statements of a function return. Returns of nested
// functions do not count.
func (s *sources) returned(body Node) {
	Walk(body, func(n Node) bool {
		switch n := n.(type) {
		case *Return:
			if n.X != nil {
				s.add(n.X)
			}
		case *Func:
			return false
		}
		return true
	})
}

// assigned adds the values that are assigned to a variable.
func (s *sources) assigned(index int) {
	if s.variables[index] {
		return
	}
	if s.variables == nil {
		s.variables = map[int]bool{}
	}
	s.variables[index] = true
	Walk(s.root, func(n Node) bool {
		if set, ok := n.(*Set); ok && set.Index == index {
			s.add(set.X)
		}
		return true
	})
}

// IsAddress reports that the values of a node are addresses: a field with addresses, the begin of
// the page of an address, or an address plus or minus a number of bytes. The difference of two
// addresses is no address, nor are some bits of one.
func IsAddress(n Node) bool {
	if _, cut := n.(*Ext); cut {
		return false
	}
	if f := FieldOf(n); f != nil {
		return f.Unit == event.AddressU
	}
	switch n := n.(type) {
	case *Unary:
		return (n.Op == OpSigned || n.Op == OpUnsigned) && IsAddress(n.X)
	case *Binary:
		x, y := IsAddress(n.X), IsAddress(n.Y)
		switch n.Op {
		case OpAdd, OpAddC:
			return x != y
		case OpSub, OpSubC:
			return x && !y
		case OpAnd, OpAndC:
			return x && clearsLow(n.Y) || y && clearsLow(n.X)
		}
	case *Cond, *Func, *Local, *Set, *Seq:
		from := Sources(n)
		for _, x := range from {
			if !IsAddress(x) {
				return false
			}
		}
		return len(from) > 0
	}
	return false
}

// clearsLow reports that a mask clears only low bits.
func clearsLow(n Node) bool {
	c, ok := n.(*Const)
	return ok && c.T.Numeric() && c.Int < 0
}

// IsStack reports that the values of a program are numbers of stacks: the stack
// of an event, or a value that a fold emits under a name such as stack or
// wakeup_stack.
func (p *Program) IsStack() bool {
	f, ok := p.Node.(*Field)
	return ok && f.View == ViewValue && f.F.Stack()
}

// ReadsStack reports that a node reads stacks.
func ReadsStack(n Node) bool {
	found := false
	Walk(n, func(x Node) bool {
		if f, ok := x.(*Field); ok && f.F.Stack() {
			found = true
		}
		return !found
	})
	return found
}

// NumbersOf is the type of a node's numbers, with their unit. It is unsigned only if a number may
// need its 64th bit.
func NumbersOf(n Node) event.Type {
	t := n.Type()
	t.Unit = UnitOf(n)
	t.Unsigned = t.Kind == Int && signOf(n) == 'u'
	return t
}
