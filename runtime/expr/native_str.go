package expr

import (
	"bytes"
	"math"
	"unsafe"
)

// Bytes returns the bytes of a string without a copy; they must not be written.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func floatBits(v float64) int64 { return int64(math.Float64bits(v)) }

// genStr compiles a node of kind Str.
func genStr(n Node) strFn {
	switch n := n.(type) {
	case *Const:
		s := []byte(n.Str)
		return func(*Frame) []byte { return s }
	case *Field:
		return fieldStr(n)
	case *CStr:
		return memText(n)
	case *MemBytes:
		return memBytes(n)
	case *Slice:
		return genSlice(n)
	case *TextOp:
		return textStr(n)
	case *Cond:
		test, a, b := genBool(n.Test), genStr(n.Then), genStr(n.Else)
		return func(f *Frame) []byte {
			if test(f) {
				return a(f)
			}
			return b(f)
		}
	case *Local:
		i := n.Index
		return func(f *Frame) []byte { return f.strs[i] }
	case *Set:
		i, x := n.Index, genStr(n.X)
		return func(f *Frame) []byte {
			v := x(f)
			f.strs[i] = v
			return v
		}
	case *Seq:
		first, last := genBlock(n.List[:len(n.List)-1]), genStr(n.List[len(n.List)-1])
		return func(f *Frame) []byte {
			first(f)
			return last(f)
		}
	case *Func:
		body := genStmt(n.Body)
		return func(f *Frame) []byte {
			f.ret.S = nil
			if body(f) {
				return f.ret.S
			}
			return nil
		}
	case *LoadState:
		i := n.Slot
		return func(f *Frame) []byte {
			if i < len(f.Texts) {
				return f.Texts[i]
			}
			f.Fail(ErrMissing)
			return nil
		}
	case *Native:
		return nativeStr(n)
	}
	panic("BUG: no text code for " + n.String())
}

func nativeStr(n *Native) strFn {
	if fn := n.Str1; fn != nil && !n.Effect {
		x := genInt(n.Args[0])
		return func(f *Frame) []byte { return fn(f, x(f)) }
	}
	fn, push, effect := n.Str, genArgs(n.Args), n.Effect
	if one := n.Str1; one != nil {
		fn = func(f *Frame, args []Arg) []byte { return one(f, args[0].I) }
	}
	return func(f *Frame) []byte {
		base := len(f.args)
		push(f)
		var v []byte
		if !effect || f.Err == nil {
			v = fn(f, f.args[base:])
		}
		f.args = f.args[:base]
		return v
	}
}

func genSlice(n *Slice) strFn {
	x, lo, hi, noHi := genStr(n.X), n.Lo, n.Hi, n.NoHi
	at := func(i, size int) int {
		if i < 0 {
			i += size
		}
		return min(max(i, 0), size)
	}
	return func(f *Frame) []byte {
		s := x(f)
		from, to := at(lo, len(s)), len(s)
		if !noHi {
			to = at(hi, len(s))
		}
		if from >= to {
			return nil
		}
		return s[from:to]
	}
}

// strAt is a byte of a text; the NUL after it can be read too, as in C.
func strAt(n *StrAt) intFn {
	x, i, signed := genStr(n.X), genInt(n.I), n.Signed
	return func(f *Frame) int64 {
		s := x(f)
		k := i(f)
		switch {
		case uint64(k) < uint64(len(s)):
			if signed {
				return int64(int8(s[k]))
			}
			return int64(s[k])
		case k != int64(len(s)):
			f.Fail(ErrPointer)
		}
		return 0
	}
}

// Trim cuts a text at its NUL.
func Trim(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// genFloat compiles a numeric node as a double.
func genFloat(n Node) floatFn {
	if n.Type().Numeric() {
		x, unsigned := genInt(n), n.Type().Unsigned
		return func(f *Frame) float64 {
			if v := x(f); v < 0 && unsigned {
				return float64(uint64(v))
			} else {
				return float64(v)
			}
		}
	}
	switch n := n.(type) {
	case *Const:
		k := n.Float
		return func(*Frame) float64 { return k }
	case *Field:
		return fieldFloat(n)
	case *Unary:
		x := genFloat(n.X)
		if n.Op == OpFNeg {
			return func(f *Frame) float64 { return -x(f) }
		}
		return x // OpToFloat
	case *Binary:
		x, y := genFloat(n.X), genFloat(n.Y)
		switch n.Op {
		case OpFAdd:
			return func(f *Frame) float64 { return x(f) + y(f) }
		case OpFSub:
			return func(f *Frame) float64 { return x(f) - y(f) }
		case OpFMul:
			return func(f *Frame) float64 { return x(f) * y(f) }
		case OpFDiv:
			return func(f *Frame) float64 {
				a := x(f)
				b := y(f)
				if b == 0 {
					f.Fail(ErrDivide)
					return 0
				}
				return a / b
			}
		}
	case *Cond:
		test, a, b := genBool(n.Test), genFloat(n.Then), genFloat(n.Else)
		return func(f *Frame) float64 {
			if test(f) {
				return a(f)
			}
			return b(f)
		}
	case *Local:
		i := n.Index
		return func(f *Frame) float64 { return math.Float64frombits(uint64(f.ints[i])) }
	case *Set:
		i, x := n.Index, genFloat(n.X)
		return func(f *Frame) float64 {
			v := x(f)
			f.ints[i] = floatBits(v)
			return v
		}
	case *Seq:
		first, last := genBlock(n.List[:len(n.List)-1]), genFloat(n.List[len(n.List)-1])
		return func(f *Frame) float64 {
			first(f)
			return last(f)
		}
	case *Func:
		body := genStmt(n.Body)
		return func(f *Frame) float64 {
			f.ret.I = 0
			if body(f) {
				return math.Float64frombits(uint64(f.ret.I))
			}
			return 0
		}
	}
	if n, ok := n.(*Native); ok {
		return nativeCall(n, n.Float)
	}
	panic("BUG: no float code for " + n.String())
}
