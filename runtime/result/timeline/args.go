package timeline

import (
	"encoding/hex"
	"math"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/text/plain"
)

// ArgKind is the type of an argument's value.
type ArgKind uint8

const (
	NoArg ArgKind = iota
	IntArg
	UintArg
	FloatArg
	TextArg
	AddressArg
	ArrayArg
)

// An ArgValue is the value of an argument. Text is a view that dies with the
// event.
type ArgValue struct {
	Kind ArgKind
	Num  uint64
	Text []byte
	// elem is the field of an ArrayArg; the bytes of the array are in Text.
	elem *event.Field
}

// Elements calls fn for the elements of an ArrayArg; signed says whether they are signed
// numbers.
func (v *ArgValue) Elements(fn func(n int64, signed bool)) {
	for b := v.Text; len(b) >= v.elem.Elem; b = b[v.elem.Elem:] {
		n, _ := event.LoadInt(b[:v.elem.Elem], v.elem.Signed)
		fn(n, v.elem.Signed)
	}
}

// Float returns the number of a FloatArg.
func (v *ArgValue) Float() float64 { return math.Float64frombits(v.Num) }

// maxShown bounds the names that are cached for the numbers of a field.
const maxShown = 4096

// Value returns the value of the argument for an event. If the kernel has a name for a
// field's number, it is the name; other bytes are hex.
func (a *Arg) Value(e *event.Event) ArgValue {
	switch {
	case a.part == itself:
	case e.Derived == nil:
		return ArgValue{}
	case a.part == start:
		e = e.Derived.Start
	default:
		e = e.Derived.End
	}
	if e == nil {
		return ArgValue{}
	}
	f := a.field
	if f.Place == event.InSlot {
		return a.of(f.Value(e))
	}
	switch {
	case f.Kind == event.Str:
		return ArgValue{Kind: TextArg, Text: f.Text(e)}
	case (f.Kind == event.Array || f.Kind == event.Bitmask) && f.Elem > 0:
		return ArgValue{Kind: ArrayArg, Text: f.Loc(e), elem: f}
	case f.Kind != event.Int && f.Place != event.InMember:
		a.hex = hex.AppendEncode(a.hex[:0], f.Loc(e))
		return ArgValue{Kind: TextArg, Text: a.hex}
	}
	n, ok := f.Int(e)
	if !ok {
		return ArgValue{}
	}
	if f.Shown != nil {
		if name := a.name(uint64(n), f.Number(n)); name != "" {
			return ArgValue{Kind: TextArg, Text: []byte(name)}
		}
	}
	switch {
	case f.Unit == event.AddressU:
		return ArgValue{Kind: AddressArg, Num: uint64(n)}
	case f.Signed:
		return ArgValue{Kind: IntArg, Num: uint64(n)}
	}
	return ArgValue{Kind: UintArg, Num: uint64(n)}
}

// of converts a value that an operator computed.
func (a *Arg) of(v event.Value) ArgValue {
	switch v.Kind {
	case event.None:
		return ArgValue{}
	case event.FloatValue:
		return ArgValue{Kind: FloatArg, Num: math.Float64bits(v.Float())}
	case event.StrValue, event.ListValue:
		return ArgValue{Kind: TextArg, Text: []byte(v.String())}
	}
	if a.field.Shown != nil {
		if name := a.name(v.Uint(), v); name != "" {
			return ArgValue{Kind: TextArg, Text: []byte(name)}
		}
	}
	if v.Kind == event.UintValue {
		return ArgValue{Kind: UintArg, Num: v.Uint()}
	}
	return ArgValue{Kind: IntArg, Num: uint64(v.Int())}
}

// name returns the name of a number of the field; "" if it has none.
func (a *Arg) name(n uint64, v event.Value) string {
	name, known := a.names[n]
	if known {
		return name
	}
	if name, known = a.field.Shown(v); !known {
		name = ""
	}
	if a.names == nil || len(a.names) >= maxShown {
		a.names = map[uint64]string{}
	}
	a.names[n] = string(plain.Append(nil, name))
	return a.names[n]
}

// argsOf makes arguments for the fields of a schema, with a prefix to their names.
func (b *Builder) argsOf(s *event.Schema, prefix string, of part) []Arg {
	var args []Arg
	for i := range s.Fields {
		f := &s.Fields[i]
		if strings.HasPrefix(f.Name, "common_") || f.Stack() {
			continue
		}
		args = append(args, Arg{Name: prefix + f.Name, ID: b.args, field: f, part: of})
		b.args++
	}
	return args
}
