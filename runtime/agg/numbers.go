package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// NumbersOf is the type of the numbers that a program gives to an aggregator. They
// are unsigned only where a number may need its 64th bit.
func NumbersOf(p *expr.Program) event.Type {
	f, field := p.Node.(*expr.Field)
	unsigned := p.Type.Unsigned && p.Type.Kind == expr.Int && field && f.F.Size == 8
	return event.Type{Kind: event.TypeInt, Unsigned: unsigned, Unit: expr.UnitOf(p.Node)}
}
