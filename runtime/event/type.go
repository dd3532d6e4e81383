package event

import "math"

// A Type is the type of a value: of a field, an expression, the state of a
// fold, the result of a script's function. It does not say how the bytes of a
// field are laid out; Field does.
type Type struct {
	Kind     TypeKind
	Unsigned bool // of integers: the top bit is part of the number, not its sign
	// Unit is the quantity that a number measures. Nodes of expr have types
	// without a unit, since most of them compute with plain bits; expr.UnitOf
	// finds the unit of a node.
	Unit Unit
}

// A TypeKind is the part of a type that decides which operations it has.
type TypeKind uint8

const (
	TypeVoid  TypeKind = iota // no value: statements
	TypeInt                   // 64 bits, signed unless Type.Unsigned
	TypeBool                  // false or true
	TypeStr                   // a view of bytes
	TypeFloat                 // a double, for reporting
	TypeTuple                 // a composite key
	TypeAny                   // found out only when the code runs
)

// Numeric reports that values of the type are integers or bools.
func (t Type) Numeric() bool { return t.Kind == TypeInt || t.Kind == TypeBool }

// Plain is the type without its unit.
func (t Type) Plain() Type {
	t.Unit = NoUnit
	return t
}

// Number returns the number n of this type as a Value, which has the type's unit. For a double, n
// holds its bits.
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

// ValueType is the type of the value that a script or a program of expr reads
// from the field. ok is false for arrays, and for computed values whose type is
// found out only when the code runs.
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

// FieldOf makes the field of a derived event that holds values of type t in a
// slot.
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
