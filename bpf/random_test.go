package bpf

import (
	"fmt"
	"strings"

	"ppscript/runtime/expr"
)

// This file makes random expressions for TestRandomPrograms.

var intOps = []expr.Op{expr.OpAdd, expr.OpSub, expr.OpMul, expr.OpDivS, expr.OpDivU, expr.OpModS, expr.OpModU,
	expr.OpAnd, expr.OpOr,
	expr.OpXor, expr.OpShl, expr.OpShrS, expr.OpShrU, expr.OpAddC, expr.OpSubC, expr.OpMulC,
	expr.OpFloorDiv, expr.OpFloorMod, expr.OpAndC, expr.OpOrC, expr.OpXorC, expr.OpShlC, expr.OpShrC}

// num makes an integer expression.
func (r *random) num(depth int) expr.Node {
	if r.state && r.Intn(8) == 0 {
		return must(expr.NewLoadElem(0, foldInts, expr.TInt, r.index()))
	}
	if r.state && r.Intn(4) == 0 {
		return must(expr.NewLoadState(r.Intn(foldInts), expr.TInt))
	}
	if depth == 0 || r.Intn(6) == 0 {
		switch r.Intn(3) {
		case 0:
			if r.Intn(2) == 0 {
				return expr.NewUint(uint64(r.number()))
			}
			return expr.NewInt(r.number())
		}
		return r.field(expr.Int)
	}
	var n expr.Node
	var err error
	switch r.Intn(16) {
	case 15:
		n, err = r.lookUp(expr.TInt)
	case 0:
		n, err = expr.NewUnary([]expr.Op{
			expr.OpNeg, expr.OpNot, expr.OpNegC, expr.OpNotC, expr.OpSigned, expr.OpUnsigned,
		}[r.Intn(6)], r.num(depth-1))
	case 1:
		n, err = expr.NewCond(r.bool(depth-1), r.num(depth-1), r.num(depth-1))
	case 2:
		n, err = expr.NewExt(r.num(depth-1), []int{8, 16, 32}[r.Intn(3)], r.Intn(2) == 0)
	case 3:
		n, err = expr.NewUnary(expr.OpToInt, r.bool(depth-1))
	case 4:
		n, err = expr.NewUnary(expr.OpStrLen, r.textOf(1))
	case 14:
		sub := words3[r.Intn(len(words3))]
		sub = sub[:min(len(sub), r.Intn(9))]
		n, err = expr.NewTextOp(expr.TextFind, r.textOf(1), r.Intn(2), expr.NewStr(sub))
	case 5:
		n, err = r.function(depth - 1)
	case 6, 7, 8:
		n, err = expr.PyBinary([]string{"+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"}[r.Intn(10)],
			r.num(depth-1), r.num(depth-1))
	default:
		n, err = expr.NewBinary(intOps[r.Intn(len(intOps))], r.num(depth-1), r.num(depth-1))
	}
	if err != nil {
		return r.field(expr.Int) // operands that do not go together
	}
	return n
}

// textOf makes a text: a field, or what is made of texts.
func (r *random) textOf(depth int) expr.Node {
	if depth == 0 || r.Intn(2) == 0 {
		return r.field(expr.Str)
	}
	x := r.textOf(depth - 1)
	bound := func() int { return r.Intn(24) - 8 }
	var n expr.Node
	var err error
	switch r.Intn(10) {
	case 9:
		n, err = r.lookUp(expr.TStr)
	case 0:
		n, err = expr.NewCond(r.bool(1), x, r.textOf(depth-1))
	case 1:
		n, err = expr.NewCond(r.bool(1), expr.NewStr("yes"), x)
	case 2, 3:
		n, err = expr.NewSlice(x, bound(), bound(), r.Intn(2) == 0)
	case 4:
		n, err = expr.NewTextOp([]expr.TextFn{expr.TextLower, expr.TextUpper}[r.Intn(2)], x, 0)
	case 5:
		sub := []string{"a", "k", "abc", "0"}[r.Intn(4)]
		n, err = expr.NewTextOp(expr.TextTrim, x, 1+r.Intn(2), expr.NewStr(sub))
	case 6:
		sep := []string{"a", "/", "0", "ke"}[r.Intn(4)]
		i := r.Intn(4) - 1
		if i < 0 {
			sep = sep[:1]
		}
		n, err = expr.NewTextOp(expr.TextSplit, x, i, expr.NewStr(sep))
	case 7:
		args := []expr.Node{r.num(1), r.num(1)}
		n, err = expr.NewTextOp(expr.TextCut, x, 0, args[:1+r.Intn(2)]...)
	default:
		n, err = expr.NewTextOp(expr.TextAt, x, 0, r.num(1))
	}
	if err != nil {
		return x
	}
	return n
}

// lookUp looks a number or a text up in a dictionary, which has it now and then.
func (r *random) lookUp(t expr.Type) (expr.Node, error) {
	d := &expr.Dict{
		Numbers:   []int64{r.number(), -1, 0, 1 << 40},
		Words:     [][]byte{{}, []byte("R"), []byte("a longer one"), []byte("D")},
		Otherwise: r.Intn(2) == 0,
	}
	if r.Intn(2) == 0 {
		d.Texts = map[string]int{"kernel": 1, words3[0]: 2, "": 3}
		return expr.NewLookup(d, r.textOf(0), t)
	}
	d.Ints = map[int64]int{0: 1, 1: 2, -1: 3, r.number(): 0}
	return expr.NewLookup(d, must(expr.NewUnary(expr.OpSigned, r.num(1))), t)
}

// function is the IR of a script's function: a local, an if, returns.
func (r *random) function(depth int) (expr.Node, error) {
	i := r.locals
	r.locals++
	x := r.num(depth)
	set, err := expr.NewSet(i, "x", x)
	if err != nil {
		return nil, err
	}
	local := expr.NewLocal(i, "x", x.Type())
	test, err := expr.Compare([]string{"<", "==", ">="}[r.Intn(3)], local, r.num(depth))
	if err != nil {
		return nil, err
	}
	then := expr.NewReturn(r.num(depth))
	cond, err := expr.NewIf(test, then, nil)
	if err != nil {
		return nil, err
	}
	return expr.NewFunc(expr.NewBlock(set, cond, expr.NewReturn(local)), x.Type())
}

var rels = []string{"<", "<=", ">", ">=", "==", "!="}

func (r *random) bool(depth int) expr.Node {
	var n expr.Node
	var err error
	if depth == 0 {
		n, err = expr.Compare(rels[r.Intn(6)], r.field(expr.Int), expr.NewInt(r.number()))
	} else {
		switch r.Intn(9) {
		case 0:
			n, err = expr.NewBinary(expr.OpAndB, r.bool(depth-1), r.bool(depth-1))
		case 1:
			n, err = expr.NewBinary(expr.OpOrB, r.bool(depth-1), r.bool(depth-1))
		case 2:
			n, err = expr.NewUnary(expr.OpNotB, r.bool(depth-1))
		case 3:
			n, err = expr.NewUnary(expr.OpTruth, r.num(depth-1))
		case 4:
			op := []expr.Op{expr.OpStrEq, expr.OpStrNe, expr.OpStrLt, expr.OpStrLe,
				expr.OpPrefix, expr.OpGlob, expr.OpSuffix, expr.OpContains, expr.OpGlob}[r.Intn(9)]
			pattern := words3[r.Intn(len(words3))]
			if op == expr.OpGlob {
				pattern = r.glob(pattern)
			}
			if op == expr.OpSuffix || op == expr.OpContains {
				pattern = pattern[r.Intn(len(pattern)+1):]
			}
			n, err = expr.NewBinary(op, r.textOf(1), expr.NewStr(pattern))
		case 5:
			n, err = expr.NewBinary(
				[]expr.Op{expr.OpStrEq, expr.OpStrNe, expr.OpStrLt, expr.OpStrLe}[r.Intn(4)],
				r.textOf(1), r.textOf(1))
		case 6:
			n, err = expr.NewUnary(expr.OpTruth, r.textOf(2))
		default:
			n, err = expr.Compare(rels[r.Intn(6)], r.num(depth-1), r.num(depth-1))
		}
	}
	if err != nil {
		return expr.NewBool(r.Intn(2) == 0)
	}
	return n
}

// glob changes a text into a glob that may match it.
func (r *random) glob(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch r.Intn(8) {
		case 0:
			b.WriteByte('?')
		case 1:
			b.WriteByte('*')
		case 2:
			fmt.Fprintf(&b, "[%c-%c]", s[i]-1, s[i]+1)
		case 3:
			fmt.Fprintf(&b, "[!%cx]", s[i]+1)
		case 4: // left out
		default:
			b.WriteByte(s[i])
		}
	}
	if r.Intn(3) == 0 {
		b.WriteByte('*')
	}
	return b.String()
}
