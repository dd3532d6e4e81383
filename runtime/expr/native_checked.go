package expr

import (
	"math"
	"math/bits"
)

// This file compiles Python's integer arithmetic within 64 bits. An operand has
// the sign of its own node's type. The result must fit the type of the
// operation's node, else Frame.Err is set.
//
// The general case computes with 128 bits (wide); the usual case, both sides
// signed, has code of its own.

// wide is a 128-bit two's complement integer.
type wide struct {
	hi int64
	lo uint64
}

func widen(v int64, unsigned bool) wide {
	if unsigned {
		return wide{0, uint64(v)}
	}
	return wide{v >> 63, uint64(v)}
}

// narrow returns the value in 64 bits, or sets Frame.Err.
func (w wide) narrow(f *Frame, unsigned bool) int64 {
	if unsigned && w.hi != 0 || !unsigned && w.hi != int64(w.lo)>>63 {
		f.Fail(ErrOverflow)
		return 0
	}
	return int64(w.lo)
}

func (w wide) add(v wide) wide {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	hi, _ := bits.Add64(uint64(w.hi), uint64(v.hi), carry)
	return wide{int64(hi), lo}
}

func (w wide) neg() wide {
	lo, borrow := bits.Sub64(0, w.lo, 0)
	hi, _ := bits.Sub64(0, uint64(w.hi), borrow)
	return wide{int64(hi), lo}
}

// abs is the magnitude of a value that was widened from 64 bits; it fits in 64
// bits.
func (w wide) abs() (m uint64, negative bool) {
	if w.hi < 0 {
		return -w.lo, true
	}
	return w.lo, false
}

func genChecked(n *Binary) intFn {
	if fn := fuseSince(n); fn != nil {
		return fn
	}
	x, y := genInt(n.X), genInt(n.Y)
	xu, yu, tu := n.X.Type().Unsigned, n.Y.Type().Unsigned, n.T.Unsigned
	if c, ok := n.Y.(*Const); ok && c.Int >= 0 {
		yu = false // the same value read signed
		if fn := genCheckedConst(n.Op, x, xu, tu, c.Int); fn != nil {
			return fn
		}
	}
	if !xu && !yu && !tu {
		if fn := genCheckedSigned(n.Op, x, y); fn != nil {
			return fn
		}
	}
	switch n.Op {
	case OpShlC, OpShrC:
		return genCheckedShift(n.Op == OpShlC, x, y, xu, yu, tu)
	}
	op := n.Op
	return func(f *Frame) int64 {
		a := widen(x(f), xu)
		b := widen(y(f), yu)
		switch op {
		case OpAddC:
			return a.add(b).narrow(f, tu)
		case OpSubC:
			return a.add(b.neg()).narrow(f, tu)
		case OpAndC:
			return wide{a.hi & b.hi, a.lo & b.lo}.narrow(f, tu)
		case OpOrC:
			return wide{a.hi | b.hi, a.lo | b.lo}.narrow(f, tu)
		case OpXorC:
			return wide{a.hi ^ b.hi, a.lo ^ b.lo}.narrow(f, tu)
		case OpMulC:
			am, an := a.abs()
			bm, bn := b.abs()
			hi, lo := bits.Mul64(am, bm)
			if hi>>63 != 0 {
				f.Fail(ErrOverflow)
				return 0
			}
			p := wide{int64(hi), lo}
			if an != bn {
				p = p.neg()
			}
			return p.narrow(f, tu)
		}
		// Floor division: q*b + r == a, r has the sign of b.
		am, an := a.abs()
		bm, bn := b.abs()
		if bm == 0 {
			f.Fail(ErrDivide)
			return 0
		}
		q, r := wide{0, am / bm}, wide{0, am % bm}
		if an != bn {
			q = q.neg()
			if r.lo != 0 {
				q = q.add(wide{-1, math.MaxUint64})
				r.lo = bm - r.lo
			}
		}
		if op == OpFloorDiv {
			return q.narrow(f, tu)
		}
		if bn {
			r = r.neg()
		}
		return r.narrow(f, tu)
	}
}

// genCheckedConst compiles x OP k for k >= 0 if that is much cheaper than the
// general case; else nil.
func genCheckedConst(op Op, x intFn, xu, tu bool, k int64) intFn {
	switch {
	case op == OpAndC:
		return func(f *Frame) int64 { return x(f) & k }
	case op == OpShrC && k < 64 && xu:
		return func(f *Frame) int64 { return int64(uint64(x(f)) >> (uint64(k) & 63)) }
	case op == OpShrC && k < 64:
		return func(f *Frame) int64 { return x(f) >> (uint64(k) & 63) }
	case op == OpFloorDiv && k > 0 && xu:
		if tu || k > 1 { // fits with either sign
			return func(f *Frame) int64 { return int64(uint64(x(f)) / uint64(k)) }
		}
	case op == OpFloorMod && k > 0 && xu:
		return func(f *Frame) int64 { return int64(uint64(x(f)) % uint64(k)) }
	case op == OpFloorDiv && k > 0 && !tu:
		return func(f *Frame) int64 {
			a := x(f)
			q := a / k
			if a < 0 && q*k != a {
				q--
			}
			return q
		}
	case op == OpFloorMod && k > 0 && !tu:
		return func(f *Frame) int64 {
			r := x(f) % k
			if r < 0 {
				r += k
			}
			return r
		}
	}
	return nil
}

func genCheckedSigned(op Op, x, y intFn) intFn {
	switch op {
	case OpAddC:
		return func(f *Frame) int64 {
			a := x(f)
			b := y(f)
			c := a + b
			if (a^c)&(b^c) < 0 {
				f.Fail(ErrOverflow)
			}
			return c
		}
	case OpSubC:
		return func(f *Frame) int64 {
			a := x(f)
			b := y(f)
			c := a - b
			if (a^b)&(a^c) < 0 {
				f.Fail(ErrOverflow)
			}
			return c
		}
	case OpAndC:
		return func(f *Frame) int64 { return x(f) & y(f) }
	case OpOrC:
		return func(f *Frame) int64 { return x(f) | y(f) }
	case OpXorC:
		return func(f *Frame) int64 { return x(f) ^ y(f) }
	}
	return nil
}

func genCheckedShift(left bool, x, y intFn, xu, yu, tu bool) intFn {
	return func(f *Frame) int64 {
		a := x(f)
		k := y(f)
		if k < 0 && !yu {
			f.Fail(ErrShift)
			return 0
		}
		if !left {
			if uint64(k) > 63 {
				k = 63
				if xu {
					return 0
				}
			}
			if xu {
				return int64(uint64(a) >> uint64(k))
			}
			return a >> uint64(k)
		}
		if a == 0 {
			return 0
		}
		if uint64(k) > 63 {
			f.Fail(ErrOverflow)
			return 0
		}
		v := a << uint64(k)
		back := v >> uint64(k)
		if tu {
			back = int64(uint64(v) >> uint64(k))
		}
		if back != a {
			f.Fail(ErrOverflow)
		}
		return v
	}
}
