package key

import (
	"encoding/binary"
	"math"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file packs key columns into bytes and back. An integer takes 8 bytes, a
// text its length and bytes, so that ("ab", "c") differs from ("a", "bc"). A
// value whose kind is only known at run time has the kind in front.

// Append packs the values of p for the frame's event.
func Append(dst []byte, p *expr.Program, f *expr.Frame) []byte {
	switch {
	case p.Type.Numeric():
		return binary.LittleEndian.AppendUint64(dst, uint64(p.Int(f)))
	case p.Type.Kind == expr.Str:
		return AppendText(dst, p.Str(f))
	case p.Elems != nil:
		for _, m := range p.Elems {
			dst = Append(dst, m, f)
		}
		return dst
	}
	return AppendValue(dst, p.Value(f))
}

// ValueOf is an integer that p yields as a Value.
func ValueOf(p *expr.Program, n int64) event.Value {
	t := p.Type
	t.Unit = expr.UnitOf(p.Node)
	t.Unsigned = t.Unsigned && n < 0
	return t.Number(n)
}

// AppendText packs a text as Append does.
func AppendText[T string | []byte](dst []byte, s T) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}

// AppendValue packs a value together with its kind.
func AppendValue(dst []byte, v event.Value) []byte {
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case event.StrValue:
		return AppendText(dst, v.String())
	case event.FloatValue:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float()))
	case event.ListValue:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v.List())))
		for _, m := range v.List() {
			dst = AppendValue(dst, m)
		}
		return dst
	}
	return binary.LittleEndian.AppendUint64(dst, v.Uint())
}

// Take unpacks a column that Append packed with p, and returns the rest.
func Take(b []byte, p *expr.Program) (event.Value, []byte) {
	switch {
	case p.Type.Numeric():
		return ValueOf(p, int64(binary.LittleEndian.Uint64(b))), b[8:]
	case p.Type.Kind == expr.Str:
		n := binary.LittleEndian.Uint32(b)
		return event.StrOf(string(b[4 : 4+n])), b[4+n:]
	case p.Elems != nil:
		vs := make([]event.Value, len(p.Elems))
		for i, m := range p.Elems {
			vs[i], b = Take(b, m)
		}
		return event.ListOf(vs...), b
	}
	return takeValue(b)
}

func takeValue(b []byte) (event.Value, []byte) {
	kind := event.ValueKind(b[0])
	b = b[1:]
	switch kind {
	case event.StrValue:
		n := binary.LittleEndian.Uint32(b)
		return event.StrOf(string(b[4 : 4+n])), b[4+n:]
	case event.ListValue:
		vs := make([]event.Value, binary.LittleEndian.Uint32(b))
		b = b[4:]
		for i := range vs {
			vs[i], b = takeValue(b)
		}
		return event.ListOf(vs...), b
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[8:]
	switch kind {
	case event.FloatValue:
		return event.FloatOf(math.Float64frombits(n)), b
	case event.UintValue:
		return event.UintOf(n), b
	case event.BoolValue:
		return event.BoolOf(n != 0), b
	case event.DurationValue:
		return event.DurationOf(int64(n)), b
	case event.TimeValue:
		return event.TimeOf(event.Time(n)), b
	case event.None:
		return event.Value{}, b
	}
	return event.IntOf(int64(n)), b
}
