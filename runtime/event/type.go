package event

import "math"

// A Type says what a value is: one that a field holds, that an expression
// computes, that a fold keeps or emits, that a script's function returns. How
// the bytes of a field lie is another question; Field answers it.
type Type struct {
	Kind     TypeKind
	Unsigned bool // of integers: the top bit counts, and may be needed
	// Unit is what a number measures. Nodes of expr leave it out of their type:
	// most of them compute with bits, whatever these measure (expr.UnitOf).
	Unit Unit
}

// A TypeKind is how values of a type are computed with.
type TypeKind uint8

const (
	TypeVoid  TypeKind = iota // no value: statements
	TypeInt                   // 64 bits; Type.Unsigned tells how to read the top bit
	TypeBool                  // false or true
	TypeStr                   // a view of bytes
	TypeFloat                 // a double, for reporting
	TypeTuple                 // a composite key
	TypeAny                   // known only when it runs
)

// Numeric reports that values of the type are integers or bools.
func (t Type) Numeric() bool { return t.Kind == TypeInt || t.Kind == TypeBool }

// Plain is the type without its unit.
func (t Type) Plain() Type {
	t.Unit = NoUnit
	return t
}

// Number is a number of the type as a Value, which says what it measures. A double is given by its bits.
func (t Type) Number(n int64) Value {
	switch {
	case t.Kind == TypeFloat:
		return FloatOf(math.Float64frombits(uint64(n)))
	case t.Unit == Nanos:
		return DurationOf(n)
	case t.Unit == Moment:
		return TimeOf(Time(n))
	case t.Kind == TypeBool:
		return BoolOf(n != 0)
	case t.Unsigned:
		return UintOf(uint64(n))
	}
	return IntOf(n)
}

func (t Type) String() string {
	switch t.Kind {
	case TypeInt:
		if t.Unsigned {
			return "uint"
		}
		return "int"
	case TypeBool:
		return "bool"
	case TypeStr:
		return "str"
	case TypeFloat:
		return "float"
	case TypeTuple:
		return "tuple"
	}
	return "void"
}

// ValueType is the type of what a script, or a program of expr, gets of the
// field; ok is false for arrays, and for bytes that only a value itself tells
// more of.
func (f *Field) ValueType() (t Type, ok bool) {
	switch {
	case f.Kind == Str || f.Kind == Bytes && f.Place != InSlot:
		return Type{Kind: TypeStr}, true
	case f.Kind == Float:
		return Type{Kind: TypeFloat}, true
	case f.Kind != Int:
		return Type{Kind: TypeAny}, false
	case f.Type == BoolType && f.Place == InSlot:
		return Type{Kind: TypeBool, Unsigned: true}, true
	case f.Unit == Nanos, f.Unit == Moment:
		return Type{Kind: TypeInt, Unit: f.Unit}, true
	}
	return Type{Kind: TypeInt, Unsigned: !f.Signed && f.Size == 8}, true
}

// FieldOf is the field, of an event that an operator makes, that holds values of a type.
func FieldOf(name string, t Type, slot int) Field {
	f := Field{
		Name: name, Type: "s64", Kind: Int, Place: InSlot, Offset: slot, Size: 8, Signed: true, Unit: t.Unit,
	}
	switch t.Kind {
	case TypeInt:
		if t.Unsigned {
			f.Type, f.Signed = "u64", false
		}
	case TypeBool:
		f.Type = BoolType
	case TypeStr:
		f.Type, f.Kind = "char[]", Str
	case TypeFloat:
		f.Type, f.Kind = "double", Float
	}
	return f
}
