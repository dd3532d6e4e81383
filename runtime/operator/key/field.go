package key

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Field describes the field with the key in derived events. p computes the key; nil
// means a number without unit or names.
func Field(p *expr.Program) event.Field {
	f := event.Field{Name: "key", Type: "u64", Place: event.InSlot, Signed: true, Size: 8}
	if p == nil {
		return f
	}
	switch p.Type.Kind {
	case expr.Str:
		f.Kind, f.Type = event.Str, "char[]"
	case expr.Bool:
		f.Type = event.BoolType
	case expr.Int:
		n, field := p.Node.(*expr.Field)
		f.Signed = !p.Type.Unsigned || field && n.F.Size < 8
		if unit := expr.UnitOf(p.Node); unit == event.Nanos || unit == event.Moment {
			f.Unit = unit
		}
	default:
		f.Kind, f.Type = event.Bytes, "value" // its kind is known when it runs
	}
	return f
}
