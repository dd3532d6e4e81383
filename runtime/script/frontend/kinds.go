package frontend

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Kind is the inferred kind of a value before the script runs: its type, or
// the reason why it has none.
type Kind struct {
	event.Type
	state knowledge
}

// knowledge says how much of a value's kind is inferred.
type knowledge uint8

const (
	hidden  knowledge = iota
	typed             // it has the Type
	absent            // it is None
	several           // it has different kinds on different paths
	untyped           // it has no Type: a list, an event
	asFirst           // the kind of the first argument, only for Native.Returns
)

var (
	kindUnknown = Kind{}
	kindNone    = Kind{state: absent}
	kindInt     = kindOfType(expr.TInt)
	kindUint    = kindOfType(expr.TUint) // may need all 64 bits
	kindBool    = kindOfType(expr.TBool)
	kindText    = kindOfType(expr.TStr)
	kindFloat   = kindOfType(expr.TFloat)
	kindNanos   = kindOfType(event.Type{Kind: expr.Int, Unit: event.Nanos})
	kindMoment  = kindOfType(event.Type{Kind: expr.Int, Unit: event.Moment})
	kindSize    = kindOfType(event.Type{Kind: expr.Int, Unit: event.SizeB})
	kindMixed   = Kind{state: several}
	kindOther   = Kind{state: untyped}
)

func kindOfType(t event.Type) Kind { return Kind{Type: t, state: typed} }

func (k Kind) String() string {
	switch k.state {
	case hidden, asFirst:
		return "value"
	case absent:
		return "None"
	case several:
		return "value of several kinds"
	case untyped:
		return "list or event"
	}
	switch {
	case k.Unit == event.Nanos:
		return "duration"
	case k.Unit == event.Moment:
		return "time"
	case k.Unit == event.SizeB:
		return "size"
	case k.Kind == expr.Str:
		return "string"
	case k.Kind == expr.Int:
		return "int"
	}
	return k.Type.String()
}

// number reports that values of the kind are 64-bit integers in the state.
func (k Kind) number() bool { return k.state == typed && k.Numeric() }

// simple reports that a value may have a single kind: it does not have several,
// and is not a list or an event.
func (k Kind) simple() bool { return k.state < several }

// joinKinds is the kind of a value that has one of two kinds.
func joinKinds(a, b Kind) Kind {
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

// kindOf is the kind of a Starlark value.
func kindOf(v starlark.Value) Kind {
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

// kindOfField is the kind of the value that a View returns for a field.
func kindOfField(f *event.Field) Kind {
	t, ok := f.ValueType()
	switch {
	case ok:
		return kindOfType(t)
	case f.Kind == event.Bytes:
		return kindUnknown // found out when the function runs
	}
	return kindOther
}

// kindOfNode is the kind of a node's value.
func kindOfNode(n expr.Node) Kind {
	switch unit := expr.UnitOf(n); {
	case unit == event.Nanos:
		return kindNanos
	case unit == event.Moment:
		return kindMoment
	}
	if f, ok := n.(*expr.Field); ok && f.View == expr.ViewValue {
		return kindOfField(f.F)
	}
	switch t := n.Type(); t.Kind {
	case expr.Bool:
		return kindBool
	case expr.Int, expr.Str, expr.Float:
		return kindOfType(t.Plain())
	}
	return kindOther
}

// arithKind is the kind of x op y; kindUnknown if Starlark does not allow it.
func arithKind(op syntax.Token, x, y Kind) Kind {
	if op == syntax.PERCENT && x == kindText {
		return kindText // a format, for values of all kinds
	}
	if x == kindUnknown || y == kindUnknown || !x.simple() || !y.simple() {
		return kindUnknown
	}
	if op == syntax.PLUS && x == kindText && y == kindText ||
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
	unit, ok := unitAfter(op, x.Unit, y.Unit)
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
