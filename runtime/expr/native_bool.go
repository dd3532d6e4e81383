package expr

import (
	"bytes"

	"ppscript/runtime/text/glob"
)

// genBool compiles the truth of a node of any kind except Void and Tuple.
func genBool(n Node) boolFn {
	switch n.Type().Kind {
	case Int:
		if u, ok := n.(*Unary); ok && u.Op == OpToInt {
			return genBool(u.X)
		}
		return genCompareZero(n)
	case Str:
		s := genStr(n)
		return func(f *Frame) bool { return len(s(f)) > 0 }
	case Float:
		x := genFloat(n)
		return func(f *Frame) bool { return x(f) != 0 }
	}
	switch n := n.(type) {
	case *Const:
		k := n.Int != 0
		return func(*Frame) bool { return k }
	case *Unary:
		if n.Op == OpNotB {
			x := genBool(n.X)
			return func(f *Frame) bool { return !x(f) }
		}
		return genBool(n.X) // OpTruth
	case *Binary:
		return genBinaryBool(n)
	case *Cond:
		test, a, b := genBool(n.Test), genBool(n.Then), genBool(n.Else)
		return func(f *Frame) bool {
			if test(f) {
				return a(f)
			}
			return b(f)
		}
	case *Local:
		i := n.Index
		return func(f *Frame) bool { return f.ints[i] != 0 }
	case *Set:
		i, x := n.Index, genBool(n.X)
		return func(f *Frame) bool {
			if x(f) {
				f.ints[i] = 1
				return true
			}
			f.ints[i] = 0
			return false
		}
	case *Seq:
		first, last := genBlock(n.List[:len(n.List)-1]), genBool(n.List[len(n.List)-1])
		return func(f *Frame) bool {
			first(f)
			return last(f)
		}
	case *Func:
		body := genStmt(n.Body)
		return func(f *Frame) bool {
			f.ret.I = 0
			return body(f) && f.ret.I != 0
		}
	case *LoadState:
		i := n.Slot
		return func(f *Frame) bool {
			if i < len(f.State) {
				return f.State[i] != 0
			}
			f.Fail(ErrMissing)
			return false
		}
	case *LoadElem:
		x := genLoadElem(n)
		return func(f *Frame) bool { return x(f) != 0 }
	case *Native:
		x := nativeInt(n)
		return func(f *Frame) bool { return x(f) != 0 }
	}
	panic("BUG: no bool code for " + n.String())
}

// genCompareZero compiles the truth of an integer.
func genCompareZero(n Node) boolFn {
	return fuseCompare(&Binary{OpNe, TBool, n, &Const{T: TInt}})
}

func genBinaryBool(n *Binary) boolFn {
	switch op := n.Op; {
	case op == OpAndB:
		if fn := fuseAnd(n); fn != nil {
			return fn
		}
		x, y := genBool(n.X), genBool(n.Y)
		return func(f *Frame) bool { return x(f) && y(f) }
	case op == OpOrB:
		x, y := genBool(n.X), genBool(n.Y)
		return func(f *Frame) bool { return x(f) || y(f) }
	case op >= OpEq && op <= OpLeU:
		if fn := fuseCompare(n); fn != nil {
			return fn
		}
		return genCompare(op, genInt(n.X), genInt(n.Y))
	case op >= OpEqSU && op <= OpLeUS:
		return genCompareMixed(op, genInt(n.X), genInt(n.Y))
	case op >= OpFEq && op <= OpFLe:
		return genCompareFloat(op, genFloat(n.X), genFloat(n.Y))
	}
	return genCompareStr(n)
}

func genCompare(op Op, x, y intFn) boolFn {
	switch op {
	case OpEq:
		return func(f *Frame) bool { return x(f) == y(f) }
	case OpNe:
		return func(f *Frame) bool { return x(f) != y(f) }
	case OpLtS:
		return func(f *Frame) bool { return x(f) < y(f) }
	case OpLeS:
		return func(f *Frame) bool { return x(f) <= y(f) }
	case OpLtU:
		return func(f *Frame) bool { return uint64(x(f)) < uint64(y(f)) }
	}
	return func(f *Frame) bool { return uint64(x(f)) <= uint64(y(f)) }
}

// genCompareMixed compares a signed with an unsigned value. A negative value is
// less than every unsigned one.
func genCompareMixed(op Op, x, y intFn) boolFn {
	return func(f *Frame) bool {
		a := x(f)
		b := y(f)
		switch op {
		case OpEqSU:
			return a >= 0 && a == b
		case OpNeSU:
			return a < 0 || a != b
		case OpLtSU:
			return a < 0 || uint64(a) < uint64(b)
		case OpLeSU:
			return a < 0 || uint64(a) <= uint64(b)
		case OpLtUS:
			return b >= 0 && uint64(a) < uint64(b)
		}
		return b >= 0 && uint64(a) <= uint64(b)
	}
}

func genCompareFloat(op Op, x, y floatFn) boolFn {
	switch op {
	case OpFEq:
		return func(f *Frame) bool { return x(f) == y(f) }
	case OpFNe:
		return func(f *Frame) bool { return x(f) != y(f) }
	case OpFLt:
		return func(f *Frame) bool { return x(f) < y(f) }
	}
	return func(f *Frame) bool { return x(f) <= y(f) }
}

func genCompareStr(n *Binary) boolFn {
	if fn := fuseText(n); fn != nil {
		return fn
	}
	x := genStr(n.X)
	if c, ok := n.Y.(*Const); ok {
		k := c.Str
		switch n.Op {
		case OpStrEq:
			return func(f *Frame) bool { return string(x(f)) == k }
		case OpStrNe:
			return func(f *Frame) bool { return string(x(f)) != k }
		case OpGlob:
			m := compileGlob(k)
			return func(f *Frame) bool { return m.match(x(f)) }
		}
	}
	y := genStr(n.Y)
	switch n.Op {
	case OpStrEq:
		return func(f *Frame) bool { return string(x(f)) == string(y(f)) }
	case OpStrNe:
		return func(f *Frame) bool { return string(x(f)) != string(y(f)) }
	case OpStrLt:
		return func(f *Frame) bool { return string(x(f)) < string(y(f)) }
	case OpStrLe:
		return func(f *Frame) bool { return string(x(f)) <= string(y(f)) }
	case OpPrefix:
		return func(f *Frame) bool { return bytes.HasPrefix(x(f), y(f)) }
	case OpSuffix:
		return func(f *Frame) bool { return bytes.HasSuffix(x(f), y(f)) }
	case OpContains:
		return func(f *Frame) bool { return bytes.Contains(x(f), y(f)) }
	case OpGlob:
		return func(f *Frame) bool { return glob.Match(y(f), x(f)) }
	}
	panic("BUG: no code for operator " + n.Op.String())
}
