package expr

import (
	"encoding/binary"
	"math"

	"ppscript/runtime/event"
)

// This file fuses the predicates that nearly every plan has, so that they
// cost one call: `field OP constant`, `field == text`, and && of two.
//
// All comparisons of an integer with a constant are one test: v is in
// [lo, lo+span] modulo 2^64, or is not. That holds for signed and unsigned
// values alike and needs one subtraction and one unsigned comparison, so that
// only the load differs between the variants.

// rangeTest is a fused comparison of a field at a fixed place of the record.
type rangeTest struct {
	off, end int
	lo, span uint64
	not      bool
	load     uint8 // size in bytes; signed ones have signedLoad added
}

const signedLoad = 16

// asRange makes a rangeTest of a comparison, if it is one.
func asRange(n Node) (r rangeTest, ok bool) {
	if b, isNot := n.(*Unary); isNot && b.Op == OpNotB {
		r, ok = asRange(b.X)
		r.not = !r.not
		return r, ok
	}
	b, isBinary := n.(*Binary)
	if !isBinary || b.Op < OpEq || b.Op > OpLeU {
		return r, false
	}
	fld, left := b.X.(*Field)
	c, isConst := b.Y.(*Const)
	if !left || !isConst {
		c, isConst = b.X.(*Const)
		if fld, ok = b.Y.(*Field); !ok || !isConst {
			return r, false
		}
	}
	f := fld.F
	if fld.View != ViewValue || fld.Part != Self || f.Place != event.InRaw || f.Kind != event.Int || f.Offset < 0 {
		return r, false
	}
	switch f.Size {
	case 1, 2, 4, 8:
	default:
		return r, false
	}
	r = rangeTest{off: f.Offset, end: f.Offset + f.Size, load: uint8(f.Size)}
	if f.Signed {
		r.load += signedLoad
	}
	lo, hi, ok := bounds(b.Op, uint64(c.Int), left)
	if !ok {
		return r, false
	}
	r.lo, r.span = lo, hi-lo
	r.not = b.Op == OpNe
	return r, true
}

// bounds is the range of v for which v OP k, or with left unset k OP v,
// holds. OpNe gives the range where it does not. ok is false if the range is
// empty.
func bounds(op Op, k uint64, left bool) (lo, hi uint64, ok bool) {
	least, most := uint64(0), uint64(math.MaxUint64)
	if op == OpLtS || op == OpLeS {
		least, most = 1<<63, math.MaxInt64
	}
	switch op {
	case OpEq, OpNe:
		return k, k, true
	case OpLtS, OpLtU:
		if left {
			return least, k - 1, k != least
		}
		return k + 1, most, k != most
	}
	if left {
		return least, k, true
	}
	return k, most, true
}

// test runs on a record that is long enough.
func (r *rangeTest) test(raw []byte) bool {
	var v uint64
	switch r.load {
	case 4 + signedLoad:
		v = uint64(int64(int32(binary.LittleEndian.Uint32(raw[r.off:]))))
	case 8, 8 + signedLoad:
		v = binary.LittleEndian.Uint64(raw[r.off:])
	case 4:
		v = uint64(binary.LittleEndian.Uint32(raw[r.off:]))
	case 2 + signedLoad:
		v = uint64(int64(int16(binary.LittleEndian.Uint16(raw[r.off:]))))
	case 2:
		v = uint64(binary.LittleEndian.Uint16(raw[r.off:]))
	case 1 + signedLoad:
		v = uint64(int64(int8(raw[r.off])))
	default:
		v = uint64(raw[r.off])
	}
	return (v-r.lo <= r.span) != r.not
}

// fuseCompare compiles a comparison in one closure; nil if it has no common
// shape.
func fuseCompare(n *Binary) boolFn {
	if r, ok := asRange(n); ok {
		return fuseRange(r)
	}
	x, okx := n.X.(*Field)
	y, oky := n.Y.(*Field)
	if okx && oky {
		return fuseFields(n.Op, x, y)
	}
	if c, ok := n.Y.(*Const); ok {
		return fuseConst(n.Op, genInt(n.X), c.Int)
	}
	return nil
}

func fuseRange(r rangeTest) boolFn {
	off, end, lo, span, not := r.off, r.end, r.lo, r.span, r.not
	switch r.load {
	case 4 + signedLoad:
		return func(f *Frame) bool {
			if raw := f.Event.Raw; end <= len(raw) {
				v := uint64(int64(int32(binary.LittleEndian.Uint32(raw[off:]))))
				return (v-lo <= span) != not
			}
			f.Fail(ErrShort)
			return false
		}
	case 4:
		return func(f *Frame) bool {
			if raw := f.Event.Raw; end <= len(raw) {
				v := uint64(binary.LittleEndian.Uint32(raw[off:]))
				return (v-lo <= span) != not
			}
			f.Fail(ErrShort)
			return false
		}
	case 8, 8 + signedLoad:
		return func(f *Frame) bool {
			if raw := f.Event.Raw; end <= len(raw) {
				return (binary.LittleEndian.Uint64(raw[off:])-lo <= span) != not
			}
			f.Fail(ErrShort)
			return false
		}
	}
	return func(f *Frame) bool {
		if raw := f.Event.Raw; end <= len(raw) {
			return r.test(raw)
		}
		f.Fail(ErrShort)
		return false
	}
}

// fuseFields compares two fields.
func fuseFields(op Op, x, y *Field) boolFn {
	a, b := x.F, y.F
	if x.Part != Self || y.Part != Self || a.Place != event.InRaw || b.Place != event.InRaw ||
		a.Size != b.Size || a.Signed != b.Signed || a.Offset < 0 || b.Offset < 0 ||
		x.View != ViewValue || y.View != ViewValue || op != OpEq && op != OpNe {
		return nil
	}
	i, j, end, not := a.Offset, b.Offset, max(a.Offset, b.Offset)+a.Size, op == OpNe
	switch a.Size {
	case 4:
		return func(f *Frame) bool {
			if raw := f.Event.Raw; end <= len(raw) {
				return (binary.LittleEndian.Uint32(raw[i:]) == binary.LittleEndian.Uint32(raw[j:])) != not
			}
			f.Fail(ErrShort)
			return false
		}
	case 8:
		return func(f *Frame) bool {
			if raw := f.Event.Raw; end <= len(raw) {
				return (binary.LittleEndian.Uint64(raw[i:]) == binary.LittleEndian.Uint64(raw[j:])) != not
			}
			f.Fail(ErrShort)
			return false
		}
	}
	return nil
}

// fuseConst compares anything with a constant.
func fuseConst(op Op, x intFn, k int64) boolFn {
	lo, hi, ok := bounds(op, uint64(k), true)
	if !ok {
		return func(f *Frame) bool { x(f); return false }
	}
	span, not := hi-lo, op == OpNe
	return func(f *Frame) bool { return (uint64(x(f))-lo <= span) != not }
}

// fuseAnd compiles && of two comparisons of fields with constants.
func fuseAnd(n *Binary) boolFn {
	a, ok1 := asRange(n.X)
	b, ok2 := asRange(n.Y)
	if !ok1 || !ok2 {
		return nil
	}
	end := max(a.end, b.end)
	if a.load == 4+signedLoad && b.load == 4+signedLoad {
		i, j := a.off, b.off
		alo, aspan, anot := a.lo, a.span, a.not
		blo, bspan, bnot := b.lo, b.span, b.not
		return func(f *Frame) bool {
			raw := f.Event.Raw
			if end > len(raw) {
				f.Fail(ErrShort)
				return false
			}
			v := uint64(int64(int32(binary.LittleEndian.Uint32(raw[i:]))))
			if (v-alo <= aspan) == anot {
				return false
			}
			v = uint64(int64(int32(binary.LittleEndian.Uint32(raw[j:]))))
			return (v-blo <= bspan) != bnot
		}
	}
	return func(f *Frame) bool {
		raw := f.Event.Raw
		if end > len(raw) {
			f.Fail(ErrShort)
			return false
		}
		return a.test(raw) && b.test(raw)
	}
}
