package expr

import (
	"encoding/binary"
	"math"
	"strings"

	"ppscript/runtime/event"
)

// This file compiles the predicates that nearly every plan has to one closure,
// so that they cost one call: `field OP constant`, && of two or three of them,
// `field & mask`, `field == field`, `text == constant`, `text ~ "prefix*"`.
//
// All comparisons of an integer with a constant are one test: v is in [lo,
// lo+span] modulo 2^64, or is not. Fields of all sizes and signs are read by
// one load of the eight bytes that end with the field, so that the field is
// their most significant part. lo and span are shifted up in the same way. The
// bytes below the field only change the low bits, which span covers, so neither
// masking nor sign extension is needed: a test is a load, a subtraction and a
// comparison.

// rangeTest is a comparison of a field with a constant.
type rangeTest struct {
	at       int // offset of the eight bytes
	lo, span uint64
	not      bool
}

// loadAt returns the offset of the eight bytes that end with a field, and the
// number of bits below the field.
func loadAt(n Node) (at int, shift uint, ok bool) {
	fld, ok := n.(*Field)
	if !ok || fld.View != ViewValue || fld.Part != Self {
		return 0, 0, false
	}
	f := fld.F
	if f.Place != event.InRaw || f.Kind != event.Int || f.Offset < 0 || f.Offset+f.Size < 8 {
		return 0, 0, false
	}
	switch f.Size {
	case 1, 2, 4, 8:
		return f.Offset + f.Size - 8, uint(64 - 8*f.Size), true
	}
	return 0, 0, false
}

// asRange converts a node to a rangeTest, if it is such a comparison.
func asRange(n Node) (r rangeTest, ok bool) {
	if u, isNot := n.(*Unary); isNot && u.Op == OpNotB {
		r, ok = asRange(u.X)
		r.not = !r.not
		return r, ok
	}
	b, ok := n.(*Binary)
	if !ok || b.Op < OpEq || b.Op > OpLeU {
		return r, false
	}
	x, left := b.X, true
	c, ok := b.Y.(*Const)
	if !ok {
		x, left = b.Y, false
		if c, ok = b.X.(*Const); !ok {
			return r, false
		}
	}
	at, shift, ok := loadAt(x)
	if !ok {
		return r, false
	}
	lo, hi, ok := bounds(b.Op, uint64(c.Int), left)
	if !ok {
		return r, false
	}
	if shift > 0 {
		if lo, hi, ok = clip(x.(*Field).F, b.Op, lo, hi); !ok {
			return r, false
		}
	}
	return rangeTest{at, lo << shift, (hi-lo)<<shift | (1<<shift - 1), b.Op == OpNe}, true
}

// bounds is the range of v for which v OP k is true, or k OP v if left is not
// set. For OpNe it is the range for which it is false. ok is false if the range
// is empty.
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

// clip cuts a range to the values that a field narrower than 64 bits can have.
// ok is false if nothing is left, or if the comparison has the other sign.
func clip(f *event.Field, op Op, lo, hi uint64) (uint64, uint64, bool) {
	bits := uint(f.Size * 8)
	least, most := int64(0), int64(1)<<bits-1
	if f.Signed {
		least, most = -1<<(bits-1), 1<<(bits-1)-1
	}
	if op == OpLtU || op == OpLeU {
		if f.Signed || lo > uint64(most) {
			return 0, 0, false
		}
		return lo, min(hi, uint64(most)), true
	}
	a, b := max(int64(lo), least), min(int64(hi), most)
	return uint64(a), uint64(b), a <= b
}

// fuseCompare compiles a comparison to one closure; nil if it has no common
// form.
func fuseCompare(n *Binary) boolFn {
	if r, ok := asRange(n); ok {
		return fuseRange(r)
	}
	if fn := fuseMask(n); fn != nil {
		return fn
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
	at, end, lo, span, not := r.at, r.at+8, r.lo, r.span, r.not
	return func(f *Frame) bool {
		if raw := f.Event.Raw; end <= len(raw) {
			return (binary.LittleEndian.Uint64(raw[at:])-lo <= span) != not
		}
		f.Fail(ErrShort)
		return false
	}
}

// fuseMask compiles the test of field & mask for 0.
func fuseMask(n *Binary) boolFn {
	c, ok := n.Y.(*Const)
	and, isBinary := n.X.(*Binary)
	if !ok || !isBinary || c.Int != 0 || n.Op != OpEq && n.Op != OpNe || and.Op != OpAnd && and.Op != OpAndC {
		return nil
	}
	m, ok := and.Y.(*Const)
	at, shift, isField := loadAt(and.X)
	// Bits above the field would be copies of its sign.
	if !ok || !isField || uint64(m.Int)<<shift>>shift != uint64(m.Int) {
		return nil
	}
	mask, end, zero := uint64(m.Int)<<shift, at+8, n.Op == OpEq
	return func(f *Frame) bool {
		if raw := f.Event.Raw; end <= len(raw) {
			return (binary.LittleEndian.Uint64(raw[at:])&mask == 0) == zero
		}
		f.Fail(ErrShort)
		return false
	}
}

// fuseFields compares two fields of one size and sign for equality.
func fuseFields(op Op, x, y *Field) boolFn {
	i, shift, ok1 := loadAt(x)
	j, other, ok2 := loadAt(y)
	if !ok1 || !ok2 || shift != other || x.F.Signed != y.F.Signed || op != OpEq && op != OpNe {
		return nil
	}
	end, not := max(i, j)+8, op == OpNe
	return func(f *Frame) bool {
		if raw := f.Event.Raw; end <= len(raw) {
			d := binary.LittleEndian.Uint64(raw[i:]) ^ binary.LittleEndian.Uint64(raw[j:])
			return (d>>(shift&63) == 0) != not
		}
		f.Fail(ErrShort)
		return false
	}
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

// fuseAnd compiles && of two or three comparisons of fields with constants. The
// record's length is checked once for all of them. So a short record is an
// error even if the first comparison alone would be false.
func fuseAnd(n *Binary) boolFn {
	b, ok := asRange(n.Y)
	if !ok {
		return nil
	}
	if inner, isAnd := n.X.(*Binary); isAnd && inner.Op == OpAndB {
		x, ok1 := asRange(inner.X)
		y, ok2 := asRange(inner.Y)
		if ok1 && ok2 {
			return fuseAnd3(x, y, b)
		}
		return nil
	}
	a, ok := asRange(n.X)
	if !ok {
		return nil
	}
	end := max(a.at, b.at) + 8
	return func(f *Frame) bool {
		raw := f.Event.Raw
		if end > len(raw) {
			f.Fail(ErrShort)
			return false
		}
		return (binary.LittleEndian.Uint64(raw[a.at:])-a.lo <= a.span) != a.not &&
			(binary.LittleEndian.Uint64(raw[b.at:])-b.lo <= b.span) != b.not
	}
}

func fuseAnd3(a, b, c rangeTest) boolFn {
	end := max(a.at, b.at, c.at) + 8
	return func(f *Frame) bool {
		raw := f.Event.Raw
		if end > len(raw) {
			f.Fail(ErrShort)
			return false
		}
		return (binary.LittleEndian.Uint64(raw[a.at:])-a.lo <= a.span) != a.not &&
			(binary.LittleEndian.Uint64(raw[b.at:])-b.lo <= b.span) != b.not &&
			(binary.LittleEndian.Uint64(raw[c.at:])-c.lo <= c.span) != c.not
	}
}

// fuseText compares a text at a fixed place with a constant, without searching
// its NUL: it is equal if the constant's bytes are there, followed by a NUL or
// the field's end. For a prefix the bytes suffice.
func fuseText(n *Binary) boolFn {
	fld, ok := n.X.(*Field)
	c, isConst := n.Y.(*Const)
	if !ok || !isConst || fld.Part != Self || fld.View != ViewValue || fld.F.Kind != event.Str ||
		fld.F.Place != event.InRaw || fld.F.Offset < 0 || fld.F.Size == 0 {
		return nil
	}
	k := c.Str
	whole, not := n.Op == OpStrEq || n.Op == OpStrNe, n.Op == OpStrNe
	switch {
	case whole, n.Op == OpPrefix:
	case n.Op == OpGlob && compileGlob(k).kind == 'p':
		k = strings.TrimRight(k, "*")
	default:
		return nil
	}
	off, end := fld.F.Offset, fld.F.Offset+fld.F.Size
	if strings.IndexByte(k, 0) >= 0 || len(k) > fld.F.Size {
		return nil
	}
	after := off + len(k)
	nul := whole && after < end
	return func(f *Frame) bool {
		raw := f.Event.Raw
		if end > len(raw) {
			f.Fail(ErrShort)
			return false
		}
		return (string(raw[off:after]) == k && (!nul || raw[after] == 0)) != not
	}
}
