package eval

import (
	"math"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
	"ppscript/tests/testkit/bpftest"
)

var numbers = []int64{0, 1, -1, 2, -7, 63, 64, 65, 1 << 31, -(1 << 31), 1<<32 - 1, math.MaxInt64,
	math.MinInt64}

// The operands of a test.
var (
	x, y   = numberField(0, false), numberField(8, false)
	ux, uy = numberField(0, true), numberField(8, true)

	operands = []*expr.Field{x, y}
)

// numberProgram is a program that evaluates a number.
func numberProgram(t *testing.T, n expr.Node) *bpftest.Program {
	t.Helper()
	b := bpftest.Builder{Spills: true, In: 16, Out: 8}
	return b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		evaluator(c, in, fail, operands...).Num(n)
		c.Store(out, asm.R0)
	})
}

// Comparisons of numbers, each with or without a sign, have the results of arithmetic, whichever way the
// jump goes.
func TestCompare(t *testing.T) {
	u := func(a int64) uint64 { return uint64(a) }
	f := func(op expr.Op, x, y expr.Node, want func(a, b int64) bool) {
		t.Helper()
		n := &expr.Binary{Op: op, T: expr.TBool, X: x, Y: y}
		// The output is 1 where the jump is taken if the truth is false, and if it is true.
		b := bpftest.Builder{Spills: true, In: 16, Out: 16}
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
			for i, truth := range []bool{false, true} {
				taken, end := c.Label(), c.Label()
				evaluator(c, in, fail, operands...).branch(n, truth, taken)
				c.GoTo(end)
				c.Place(taken)
				c.Set(out+int16(8*i), 1)
				c.Place(end)
			}
		})
		for _, a := range numbers {
			for _, b := range numbers {
				out, _ := p.Words(uint64(a), uint64(b))
				if k, ok := y.(*expr.Const); ok {
					b = k.Int
				}
				if is := want(a, b); out[0] == 1 == is || out[1] == 1 != is {
					t.Errorf("%d %s %d: got jumps %v for false and true, want %t", a, op, b, out, is)
				}
			}
		}
	}
	f(expr.OpEq, x, y, func(a, b int64) bool { return a == b })
	f(expr.OpNe, x, y, func(a, b int64) bool { return a != b })
	f(expr.OpLtS, x, y, func(a, b int64) bool { return a < b })
	f(expr.OpLeS, x, y, func(a, b int64) bool { return a <= b })
	f(expr.OpLtU, ux, uy, func(a, b int64) bool { return u(a) < u(b) })
	f(expr.OpLeU, ux, uy, func(a, b int64) bool { return u(a) <= u(b) })
	f(expr.OpEqSU, x, uy, func(a, b int64) bool { return a >= 0 && a == b })
	f(expr.OpNeSU, x, uy, func(a, b int64) bool { return a < 0 || a != b })
	f(expr.OpLtSU, x, uy, func(a, b int64) bool { return a < 0 || u(a) < u(b) })
	f(expr.OpLeSU, x, uy, func(a, b int64) bool { return a < 0 || u(a) <= u(b) })
	f(expr.OpLtUS, ux, y, func(a, b int64) bool { return b >= 0 && u(a) < u(b) })
	f(expr.OpLeUS, ux, y, func(a, b int64) bool { return b >= 0 && u(a) <= u(b) })
	// Constants that fit into the instruction, and constants that do not.
	f(expr.OpLtS, x, expr.NewInt(-7), func(a, b int64) bool { return a < b })
	f(expr.OpLeU, ux, expr.NewInt(1<<31), func(a, b int64) bool { return u(a) <= u(b) })
}

// TestPlainOperators checks that operators that cannot fail compute as the operators of C do on 64
// bits.
func TestPlainOperators(t *testing.T) {
	f := func(op expr.Op, x, y expr.Node, want func(a, b int64) int64) {
		t.Helper()
		p := numberProgram(t, &expr.Binary{Op: op, T: x.Type(), X: x, Y: y})
		for _, a := range numbers {
			for _, b := range numbers {
				out, ok := p.Words(uint64(a), uint64(b))
				if k, is := y.(*expr.Const); is {
					b = k.Int
				}
				if got, want := int64(out[0]), want(a, b); !ok || got != want {
					t.Errorf("%d %s %d: got %d, %t, want %d", a, op, b, got, ok, want)
				}
			}
		}
	}
	f(expr.OpAdd, x, y, func(a, b int64) int64 { return a + b })
	f(expr.OpSub, x, y, func(a, b int64) int64 { return a - b })
	f(expr.OpMul, x, y, func(a, b int64) int64 { return a * b })
	f(expr.OpAnd, x, y, func(a, b int64) int64 { return a & b })
	f(expr.OpOr, x, y, func(a, b int64) int64 { return a | b })
	f(expr.OpXor, x, y, func(a, b int64) int64 { return a ^ b })
	f(expr.OpShl, x, y, func(a, b int64) int64 { return a << (b & 63) })
	f(expr.OpShrS, x, y, func(a, b int64) int64 { return a >> (b & 63) })
	f(expr.OpShrU, ux, y, func(a, b int64) int64 { return int64(uint64(a) >> (b & 63)) })
	f(expr.OpSub, x, expr.NewInt(-5), func(a, b int64) int64 { return a - b })
	f(expr.OpShl, x, expr.NewInt(65), func(a, b int64) int64 { return a << 1 })
	f(expr.OpXor, x, expr.NewInt(1<<40), func(a, b int64) int64 { return a ^ b })
	// The left side waits while the right one is computed.
	f(expr.OpSub, x, &expr.Binary{Op: expr.OpMul, T: expr.TInt, X: y, Y: y},
		func(a, b int64) int64 { return a - b*b })
}

// What can fail does so where there is no such number, and only there.
func TestOperatorsThatFail(t *testing.T) {
	binary := func(op expr.Op, x, y expr.Node) expr.Node {
		return &expr.Binary{Op: op, T: x.Type(), X: x, Y: y}
	}
	unary := func(op expr.Op, x expr.Node) expr.Node { return &expr.Unary{Op: op, T: x.Type(), X: x} }
	f := func(n expr.Node, want func(a, b int64) (int64, bool)) {
		t.Helper()
		p := numberProgram(t, n)
		for _, a := range numbers {
			for _, b := range numbers {
				out, ok := p.Words(uint64(a), uint64(b))
				if want, fits := want(a, b); ok != fits || ok && int64(out[0]) != want {
					t.Errorf("%s of %d and %d: got %d, %t, want %d, %t", n, a, b, int64(out[0]), ok, want,
						fits)
				}
			}
		}
	}
	divide := func(by func(a, b int64) int64) func(a, b int64) (int64, bool) {
		return func(a, b int64) (int64, bool) {
			if b == 0 {
				return 0, false
			}
			return by(a, b), true
		}
	}
	f(binary(expr.OpDivU, ux, uy), divide(func(a, b int64) int64 { return int64(uint64(a) / uint64(b)) }))
	f(binary(expr.OpModU, ux, uy), divide(func(a, b int64) int64 { return int64(uint64(a) % uint64(b)) }))
	f(binary(expr.OpModS, x, y), divide(func(a, b int64) int64 { return a % b }))
	f(binary(expr.OpAddC, x, y), func(a, b int64) (int64, bool) { return a + b, a+b > a == (b > 0) })
	f(unary(expr.OpNeg, x), func(a, _ int64) (int64, bool) { return -a, true })
	f(unary(expr.OpNot, x), func(a, _ int64) (int64, bool) { return ^a, true })
	f(unary(expr.OpNegC, x), func(a, _ int64) (int64, bool) { return -a, a != math.MinInt64 })
	f(unary(expr.OpNegC, ux), func(a, _ int64) (int64, bool) { return -a, uint64(a) <= 1<<63 })
	f(unary(expr.OpNotC, x), func(a, _ int64) (int64, bool) { return ^a, true })
	f(unary(expr.OpNotC, ux), func(a, _ int64) (int64, bool) { return ^a, a >= 0 })
	f(unary(expr.OpSigned, ux), func(a, _ int64) (int64, bool) { return a, a >= 0 })
	f(unary(expr.OpUnsigned, x), func(a, _ int64) (int64, bool) { return a, a >= 0 })
}

func TestExtreme(t *testing.T) {
	z := numberField(16, false)
	for _, low := range []bool{true, false} {
		b := bpftest.Builder{Spills: true, In: 24, Out: 8}
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
			evaluator(c, in, fail, x, y, z).extreme([]expr.Node{x, y, z}, low)
			c.Store(out, asm.R0)
		})
		for _, of := range [][3]int64{{1, 2, 3}, {3, 1, 2}, {2, 3, 1}, {-1, math.MinInt64, math.MaxInt64},
			{5, 5, 5}} {
			want := max(of[0], of[1], of[2])
			if low {
				want = min(of[0], of[1], of[2])
			}
			out, ok := p.Words(uint64(of[0]), uint64(of[1]), uint64(of[2]))
			if !ok || int64(out[0]) != want {
				t.Errorf("%v, least %t: got %d, want %d", of, low, int64(out[0]), want)
			}
		}
	}
}
