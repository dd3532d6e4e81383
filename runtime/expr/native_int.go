package expr

import (
	"math"
	"math/bits"
)

// genInt compiles a node of kind Int or Bool.
func genInt(n Node) intFn {
	if n.Type().Kind == Bool {
		b := genBool(n)
		return func(f *Frame) int64 {
			if b(f) {
				return 1
			}
			return 0
		}
	}
	switch n := n.(type) {
	case *Const:
		k := n.Int
		return func(*Frame) int64 { return k }
	case *Field:
		return fieldInt(n)
	case *Mem:
		return memInt(n)
	case *StrAt:
		return strAt(n)
	case *TextOp:
		return textInt(n)
	case *Unary:
		return genUnaryInt(n)
	case *Binary:
		return genBinaryInt(n)
	case *Ext:
		return genExt(n)
	case *Cond:
		test, a, b := genBool(n.Test), genInt(n.Then), genInt(n.Else)
		return func(f *Frame) int64 {
			if test(f) {
				return a(f)
			}
			return b(f)
		}
	case *Local:
		i := n.Index
		return func(f *Frame) int64 { return f.ints[i] }
	case *Set:
		i, x := n.Index, genInt(n.X)
		return func(f *Frame) int64 {
			v := x(f)
			f.ints[i] = v
			return v
		}
	case *Seq:
		first, last := genBlock(n.List[:len(n.List)-1]), genInt(n.List[len(n.List)-1])
		return func(f *Frame) int64 {
			first(f)
			return last(f)
		}
	case *Func:
		body := genStmt(n.Body)
		return func(f *Frame) int64 {
			f.ret.I = 0
			if body(f) {
				return f.ret.I
			}
			return 0
		}
	case *LoadState:
		i := n.Slot
		return func(f *Frame) int64 {
			if i < len(f.State) {
				return f.State[i]
			}
			f.Fail(ErrMissing)
			return 0
		}
	case *LoadElem:
		return genLoadElem(n)
	case *Native:
		return nativeInt(n)
	case *Quantity:
		return genInt(n.X)
	}
	panic("BUG: no integer code for " + n.String())
}

func nativeInt(n *Native) intFn {
	if fn := n.Int1; fn != nil {
		x := genInt(n.Args[0])
		if n.Effect {
			return func(f *Frame) int64 {
				v := x(f)
				if f.Err != nil {
					return 0
				}
				return fn(f, v)
			}
		}
		return func(f *Frame) int64 { return fn(f, x(f)) }
	}
	return nativeCall(n, n.Int)
}

// nativeCall evaluates the arguments of a native and calls fn, one of its functions, with them.
func nativeCall[T int64 | float64](n *Native, fn func(*Frame, []Arg) T) func(*Frame) T {
	push, effect := genArgs(n.Args), n.Effect
	return func(f *Frame) T {
		base := len(f.args)
		push(f)
		var v T
		if !effect || f.Err == nil {
			v = fn(f, f.args[base:])
		}
		f.args = f.args[:base]
		return v
	}
}

func genExt(n *Ext) intFn {
	x := genInt(n.X)
	switch {
	case n.Bits == 8 && n.Unsigned:
		return func(f *Frame) int64 { return int64(uint8(x(f))) }
	case n.Bits == 8:
		return func(f *Frame) int64 { return int64(int8(x(f))) }
	case n.Bits == 16 && n.Unsigned:
		return func(f *Frame) int64 { return int64(uint16(x(f))) }
	case n.Bits == 16:
		return func(f *Frame) int64 { return int64(int16(x(f))) }
	case n.Unsigned:
		return func(f *Frame) int64 { return int64(uint32(x(f))) }
	}
	return func(f *Frame) int64 { return int64(int32(x(f))) }
}

func genUnaryInt(n *Unary) intFn {
	switch n.Op {
	case OpToInt:
		b := genBool(n.X)
		return func(f *Frame) int64 {
			if b(f) {
				return 1
			}
			return 0
		}
	case OpTrunc:
		x := genFloat(n.X)
		return func(f *Frame) int64 {
			v := math.Trunc(x(f))
			if !(v >= -1<<63 && v < 1<<63) {
				f.Fail(ErrOverflow)
				return 0
			}
			return int64(v)
		}
	case OpStrLen:
		s := genStr(n.X)
		return func(f *Frame) int64 { return int64(len(s(f))) }
	}
	x := genInt(n.X)
	switch n.Op {
	case OpNeg:
		return func(f *Frame) int64 { return -x(f) }
	case OpNot:
		return func(f *Frame) int64 { return ^x(f) }
	case OpNegC:
		if n.X.Type().Unsigned {
			return func(f *Frame) int64 {
				v := x(f)
				if uint64(v) > 1<<63 {
					f.Fail(ErrOverflow)
				}
				return -v
			}
		}
		return func(f *Frame) int64 {
			v := x(f)
			if v == math.MinInt64 {
				f.Fail(ErrOverflow)
			}
			return -v
		}
	case OpNotC, OpSigned, OpUnsigned:
		// ~x is -x-1, which does not fit for an unsigned x above 1<<63.
		flip := int64(0)
		if n.Op == OpNotC {
			flip = -1
			if !n.X.Type().Unsigned {
				return func(f *Frame) int64 { return ^x(f) }
			}
		}
		return func(f *Frame) int64 {
			v := x(f)
			if v < 0 {
				f.Fail(ErrOverflow)
			}
			return v ^ flip
		}
	}
	panic("BUG: no code for operator " + n.Op.String())
}

func genBinaryInt(n *Binary) intFn {
	if n.Op >= OpAddC && n.Op <= OpShrC {
		return genChecked(n)
	}
	if c, ok := n.Y.(*Const); ok {
		if fn := genIntConst(n.Op, genInt(n.X), c.Int); fn != nil {
			return fn
		}
	}
	x, y := genInt(n.X), genInt(n.Y)
	switch n.Op {
	case OpAdd:
		return func(f *Frame) int64 { return x(f) + y(f) }
	case OpSub:
		return func(f *Frame) int64 { return x(f) - y(f) }
	case OpMul:
		return func(f *Frame) int64 { return x(f) * y(f) }
	case OpAnd:
		return func(f *Frame) int64 { return x(f) & y(f) }
	case OpOr:
		return func(f *Frame) int64 { return x(f) | y(f) }
	case OpXor:
		return func(f *Frame) int64 { return x(f) ^ y(f) }
	case OpShl:
		return func(f *Frame) int64 { a := x(f); return a << (uint64(y(f)) & 63) }
	case OpShrS:
		return func(f *Frame) int64 { a := x(f); return a >> (uint64(y(f)) & 63) }
	case OpShrU:
		return func(f *Frame) int64 { a := x(f); return int64(uint64(a) >> (uint64(y(f)) & 63)) }
	case OpDivS, OpModS, OpDivU, OpModU:
		return genDivide(n.Op, x, y)
	}
	panic("BUG: no code for operator " + n.Op.String())
}

func genDivide(op Op, x, y intFn) intFn {
	signed := op == OpDivS || op == OpModS
	mod := op == OpModS || op == OpModU
	return func(f *Frame) int64 {
		a := x(f)
		b := y(f)
		switch {
		case b == 0:
			f.Fail(ErrDivide)
			return 0
		case signed && b == -1:
			if mod {
				return 0
			}
			if a == math.MinInt64 {
				f.Fail(ErrOverflow)
			}
			return -a
		case signed && mod:
			return a % b
		case signed:
			return a / b
		case mod:
			return int64(uint64(a) % uint64(b))
		}
		return int64(uint64(a) / uint64(b))
	}
}

// genIntConst compiles x OP k; nil if that is not faster.
func genIntConst(op Op, x intFn, k int64) intFn {
	u := uint64(k)
	switch op {
	case OpAdd:
		return func(f *Frame) int64 { return x(f) + k }
	case OpSub:
		return func(f *Frame) int64 { return x(f) - k }
	case OpMul:
		return func(f *Frame) int64 { return x(f) * k }
	case OpAnd:
		return func(f *Frame) int64 { return x(f) & k }
	case OpOr:
		if k == 0 {
			return x // made by Retype
		}
		return func(f *Frame) int64 { return x(f) | k }
	case OpXor:
		return func(f *Frame) int64 { return x(f) ^ k }
	case OpShl:
		return func(f *Frame) int64 { return x(f) << (u & 63) }
	case OpShrS:
		return func(f *Frame) int64 { return x(f) >> (u & 63) }
	case OpShrU:
		return func(f *Frame) int64 { return int64(uint64(x(f)) >> (u & 63)) }
	case OpDivU, OpModU:
		if u == 0 {
			return nil
		}
		pow2 := bits.OnesCount64(u) == 1
		shift := bits.TrailingZeros64(u) & 63
		switch {
		case op == OpDivU && pow2:
			return func(f *Frame) int64 { return int64(uint64(x(f)) >> shift) }
		case op == OpDivU:
			return func(f *Frame) int64 { return int64(uint64(x(f)) / u) }
		case pow2:
			return func(f *Frame) int64 { return x(f) & (k - 1) }
		}
		return func(f *Frame) int64 { return int64(uint64(x(f)) % u) }
	case OpDivS:
		if k > 0 {
			return func(f *Frame) int64 { return x(f) / k }
		}
	case OpModS:
		if k > 0 {
			return func(f *Frame) int64 { return x(f) % k }
		}
	}
	return nil
}
