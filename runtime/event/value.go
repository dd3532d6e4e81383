package event

import (
	"math"
	"strconv"
)

// A ValueKind is the kind of one Value: how its bits are read, and the unit of a
// number. Unlike a Type, it can be nothing or a list, since it is found out when a
// script or a program runs.
type ValueKind uint8

const (
	None ValueKind = iota
	IntValue
	UintValue // a 64-bit number whose top bit may be set
	BoolValue
	FloatValue
	StrValue
	DurationValue // ns
	TimeValue     // Time
	ListValue     // a list of Values
)

// A Value is a number, a text or a list outside the hot path: a group key, a
// cell of a table, the result of an interpreted function. The zero Value is
// "nothing".
type Value struct {
	Kind ValueKind
	num  uint64
	str  string
	list []Value
}

func IntOf(v int64) Value       { return Value{Kind: IntValue, num: uint64(v)} }
func UintOf(v uint64) Value     { return Value{Kind: UintValue, num: v} }
func FloatOf(v float64) Value   { return Value{Kind: FloatValue, num: math.Float64bits(v)} }
func StrOf(s string) Value      { return Value{Kind: StrValue, str: s} }
func DurationOf(ns int64) Value { return Value{Kind: DurationValue, num: uint64(ns)} }
func TimeOf(t Time) Value       { return Value{Kind: TimeValue, num: uint64(t)} }
func ListOf(vs ...Value) Value  { return Value{Kind: ListValue, list: vs} }
func BoolOf(b bool) Value {
	v := Value{Kind: BoolValue}
	if b {
		v.num = 1
	}
	return v
}

// Int is the value as a signed number; floats are truncated, text is 0.
func (v Value) Int() int64 {
	if v.Kind == FloatValue {
		return int64(math.Float64frombits(v.num))
	}
	return int64(v.num)
}

// Uint is the value as an unsigned number.
func (v Value) Uint() uint64 {
	if v.Kind == FloatValue {
		return uint64(math.Float64frombits(v.num))
	}
	return v.num
}

// Float is the value as a double.
func (v Value) Float() float64 {
	switch v.Kind {
	case FloatValue:
		return math.Float64frombits(v.num)
	case UintValue:
		return float64(v.num)
	}
	return float64(int64(v.num))
}

// Bool reports that the value is not nothing, zero, empty or false.
func (v Value) Bool() bool {
	switch v.Kind {
	case None:
		return false
	case StrValue:
		return v.str != ""
	case ListValue:
		return len(v.list) > 0
	case FloatValue:
		return v.Float() != 0
	}
	return v.num != 0
}

// List returns the members of a list.
func (v Value) List() []Value { return v.list }

// Numeric reports that the value is a number of any kind.
func (v Value) Numeric() bool {
	switch v.Kind {
	case None, StrValue, ListValue:
		return false
	}
	return true
}

// String is the plain text of the value, without a unit.
func (v Value) String() string {
	switch v.Kind {
	case None:
		return ""
	case StrValue:
		return v.str
	case UintValue:
		return strconv.FormatUint(v.num, 10)
	case FloatValue:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case BoolValue:
		return strconv.FormatBool(v.num != 0)
	case ListValue:
		s := "("
		for i, m := range v.list {
			if i > 0 {
				s += ", "
			}
			s += m.String()
		}
		return s + ")"
	}
	return strconv.FormatInt(int64(v.num), 10)
}

// Compare orders values: numbers by size, texts by bytes, lists by their
// members; nothing before numbers before texts before lists.
func (v Value) Compare(w Value) int {
	if a, b := v.class(), w.class(); a != b {
		return a - b
	}
	switch v.class() {
	case 0:
		return 0
	case 2:
		return cmp(v.str, w.str)
	case 3:
		for i := 0; i < len(v.list) && i < len(w.list); i++ {
			if c := v.list[i].Compare(w.list[i]); c != 0 {
				return c
			}
		}
		return len(v.list) - len(w.list)
	}
	return Number{v.Kind, v.num}.Compare(Number{w.Kind, w.num})
}

func (v Value) class() int {
	switch v.Kind {
	case None:
		return 0
	case StrValue:
		return 2
	case ListValue:
		return 3
	}
	return 1
}

func cmp[T string | float64 | uint64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
