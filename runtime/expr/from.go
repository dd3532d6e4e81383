package expr

import "ppscript/runtime/event"

// This file tells where the values of a node come from.

// FieldOf is the field whose values a node has; nil if it computes them.
func FieldOf(n Node) *event.Field {
	x, ok := Bare(n).(*Field)
	if ok && (x.View == ViewValue || x.View == ViewBytes && x.F.Kind != event.Int) {
		return x.F
	}
	return nil
}

// Bare is a node without the conversions of its integers around it.
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

// Sources are the nodes whose values a node passes on: both sides of a choice, and what a function returns or
// keeps in a variable. A constant is none of them: it stands for a value of the others' kind.
func Sources(n Node) []Node {
	from := sources{root: n}
	from.add(n)
	return from.found
}

// sources collects the Sources of a root.
type sources struct {
	root      Node
	found     []Node
	variables map[int]bool // variables
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

// returned adds what the statements of a function return; functions in them return to it.
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

// assigned adds what is assigned to a variable.
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

// IsAddress reports that the values of a node are addresses: those of a field, of the page around one, or so
// many bytes before or behind one. The distance of two addresses is none, nor is a part of one.
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

// clearsLow reports a mask that takes away low bits alone.
func clearsLow(n Node) bool {
	c, ok := n.(*Const)
	return ok && c.T.Numeric() && c.Int < 0
}

// IsStack reports that the values of a program are numbers of stacks: those of
// an event, or what a fold emits under a name such as stack or wakeup_stack.
func (p *Program) IsStack() bool {
	f, ok := p.Node.(*Field)
	return ok && f.View == ViewValue && f.F.Stack()
}

// ReadsStack reports that a node looks at stacks.
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

// NumbersOf is the type of the numbers that a node yields, with their unit. They are unsigned only where
// one may need its 64th bit.
func NumbersOf(n Node) event.Type {
	t := n.Type()
	t.Unit = UnitOf(n)
	t.Unsigned = t.Kind == Int && signOf(n) == 'u'
	return t
}
