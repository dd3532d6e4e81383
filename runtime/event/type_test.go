package event

import "testing"

// A field that is made for a type holds values of that type.
func TestFieldOfType(t *testing.T) {
	for _, want := range []Type{
		{Kind: TypeInt}, {Kind: TypeInt, Unsigned: true}, {Kind: TypeBool, Unsigned: true}, {Kind: TypeStr}, {Kind: TypeFloat},
		{Kind: TypeInt, Unit: Nanos}, {Kind: TypeInt, Unit: Moment},
	} {
		f := FieldOf("x", want, 3)
		if got, ok := f.ValueType(); !ok || got != want || f.Offset != 3 || f.Place != InSlot {
			t.Errorf("%v: got %v %v of field %+v", want, got, ok, f)
		}
	}
	if got, ok := (&Field{Kind: Array}).ValueType(); ok {
		t.Errorf("array: got %v, want none", got)
	}
}
