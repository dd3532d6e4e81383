package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A kind is what is known of a value before the script runs.
type kind uint8

const (
	kindUnknown kind = iota
	kindNone
	kindInt
	kindUint // 64 bits, and may need all of them
	kindBool
	kindText
	kindFloat
	kindNanos
	kindMoment
	kindSize
	kindMixed // one or another, depending on the way
	kindOther // a list, an event
)

var kindNames = [...]string{"value", "None", "int", "int", "bool", "string", "float", "duration", "time", "size", "value of several kinds", "list or event"}

func (k kind) String() string { return kindNames[k] }

// number reports that values of the kind are 64-bit integers in the state.
func (k kind) number() bool {
	switch k {
	case kindInt, kindUint, kindBool, kindNanos, kindMoment, kindSize:
		return true
	}
	return false
}

// unit is what integers of the kind measure.
func (k kind) unit() event.Unit {
	switch k {
	case kindNanos:
		return event.Nanos
	case kindMoment:
		return event.Moment
	case kindSize:
		return event.SizeB
	}
	return event.NoUnit
}

// irType is the type of the kind's values in the state.
func (k kind) irType() expr.Type {
	switch k {
	case kindText:
		return expr.TStr
	case kindBool:
		return expr.TBool
	case kindUint:
		return expr.TUint
	case kindFloat:
		return expr.TFloat
	}
	return expr.TInt
}

// joinKinds is what a value is that may be either.
func joinKinds(a, b kind) kind {
	switch {
	case a == b || b == kindUnknown:
		return a
	case a == kindUnknown:
		return b
	case a == kindInt && b == kindUint, a == kindUint && b == kindInt:
		return kindUint
	}
	return kindMixed
}

// kindOf is the kind of a value at hand.
func kindOf(v starlark.Value) kind {
	switch v := v.(type) {
	case starlark.NoneType:
		return kindNone
	case starlark.Bool:
		return kindBool
	case starlark.Int:
		if _, ok := v.Int64(); ok {
			return kindInt
		}
		if _, ok := v.Uint64(); ok {
			return kindUint
		}
	case starlark.String:
		return kindText
	case starlark.Float:
		return kindFloat
	case value.Duration:
		return kindNanos
	case value.Time:
		return kindMoment
	case value.Size:
		return kindSize
	}
	return kindOther
}

// kindOfField is the kind of what a view gives for a field.
func kindOfField(f *event.Field) kind {
	switch {
	case f.Kind == event.Str || f.Kind == event.Bytes && f.Place != event.InSlot:
		return kindText
	case f.Kind == event.Float:
		return kindFloat
	case f.Kind == event.Bytes:
		return kindUnknown // known when it runs
	case f.Kind != event.Int:
		return kindOther
	case f.Type == event.BoolType && f.Place == event.InSlot:
		return kindBool
	case f.Unit == event.Nanos:
		return kindNanos
	case f.Unit == event.Moment:
		return kindMoment
	case !f.Signed && f.Size == 8:
		return kindUint
	}
	return kindInt
}

// kindOfNode is the kind of a computed value.
func kindOfNode(n expr.Node) kind {
	switch unit := expr.UnitOf(n); {
	case unit == event.Nanos:
		return kindNanos
	case unit == event.Moment:
		return kindMoment
	}
	if f, ok := n.(*expr.Field); ok && f.View == expr.ViewValue {
		return kindOfField(f.F)
	}
	switch t := n.Type(); {
	case t.Kind == expr.Str:
		return kindText
	case t.Kind == expr.Bool:
		return kindBool
	case t.Kind == expr.Float:
		return kindFloat
	case t.Kind == expr.Int && t.Unsigned:
		return kindUint
	case t.Kind == expr.Int:
		return kindInt
	}
	return kindOther
}

// fieldOf is the field of a made event that holds values of the kind.
func fieldOf(name string, k kind, slot int) event.Field {
	f := event.Field{Name: name, Type: "s64", Kind: event.Int, Place: event.InSlot, Offset: slot, Size: 8, Signed: true, Unit: k.unit()}
	switch k {
	case kindUint:
		f.Type, f.Signed = "u64", false
	case kindBool:
		f.Type = event.BoolType
	case kindText:
		f.Type, f.Kind = "char[]", event.Str
	case kindFloat:
		f.Type, f.Kind = "double", event.Float
	}
	return f
}

// arithKind is the kind of x op y; kindUnknown if Starlark will refuse it.
func arithKind(op syntax.Token, x, y kind) kind {
	if x == kindUnknown || y == kindUnknown || x >= kindMixed || y >= kindMixed {
		return kindUnknown
	}
	if op == syntax.PLUS && x == kindText && y == kindText || op == syntax.PERCENT && x == kindText ||
		op == syntax.STAR && (x == kindText || y == kindText) {
		return kindText
	}
	scaled := x == kindNanos || x == kindSize
	switch {
	case op == syntax.SLASH && scaled && x != y, op == syntax.STAR && scaled && y == kindFloat:
		return x
	case op == syntax.STAR && x == kindFloat && (y == kindNanos || y == kindSize):
		return y
	case op == syntax.SLASH, x == kindFloat || y == kindFloat:
		return kindFloat
	}
	if !x.number() || !y.number() || x == kindBool || y == kindBool {
		return kindUnknown
	}
	unit, ok := unitAfter(op, x.unit(), y.unit())
	switch {
	case !ok:
		return kindUnknown
	case unit == event.Nanos:
		return kindNanos
	case unit == event.Moment:
		return kindMoment
	case unit == event.SizeB:
		return kindSize
	case x == kindUint || y == kindUint:
		return kindUint
	}
	return kindInt
}
