package expr

import "ppscript/runtime/event"

// This file tells where the values of a node come from.

// FieldOf is the field whose values a node has; nil if it computes them.
func FieldOf(n Node) *event.Field {
	for {
		switch x := n.(type) {
		case *Field:
			if x.View == ViewValue || x.View == ViewBytes && x.F.Kind != event.Int {
				return x.F
			}
			return nil
		case *Quantity:
			n = x.X
		case *Ext:
			n = x.X
		case *Unary:
			if x.Op != OpSigned && x.Op != OpUnsigned {
				return nil
			}
			n = x.X
		default:
			return nil
		}
	}
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
