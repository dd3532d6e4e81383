package eval

import (
	"math"
	"math/big"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
	"ppscript/tests/testkit/bpftest"
)

// edges are numbers at which results stop to fit, or change their sign.
var edges = []int64{0, 1, -1, 2, -2, 3, 7, -7, 63, 64, 1 << 31, 1<<32 - 1, 1 << 32, math.MaxInt64,
	math.MinInt64, math.MinInt64 + 1}

// exact is the result of an operator without any bound, as math/big has it; nil is none.
func exact(op expr.Op, x, y *big.Int) *big.Int {
	z := new(big.Int)
	floor := func() (q, r *big.Int) {
		if y.Sign() == 0 {
			return nil, nil
		}
		q, r = new(big.Int).QuoRem(x, y, new(big.Int))
		if r.Sign() != 0 && r.Sign() != y.Sign() {
			q.Sub(q, big.NewInt(1))
			r.Add(r, y)
		}
		return q, r
	}
	switch op {
	case expr.OpAddC:
		return z.Add(x, y)
	case expr.OpSubC:
		return z.Sub(x, y)
	case expr.OpMulC:
		return z.Mul(x, y)
	case expr.OpAndC:
		return z.And(x, y)
	case expr.OpOrC:
		return z.Or(x, y)
	case expr.OpXorC:
		return z.Xor(x, y)
	case expr.OpFloorDiv:
		q, _ := floor()
		return q
	case expr.OpFloorMod:
		_, r := floor()
		return r
	}
	if y.Sign() < 0 {
		return nil
	}
	// More than 200 bits make no difference to 64.
	by := uint(200)
	if y.IsInt64() && y.Int64() < 200 {
		by = uint(y.Int64())
	}
	if op == expr.OpShlC {
		return z.Lsh(x, by)
	}
	return z.Rsh(x, by)
}

// valueOf is a word as a number of a type.
func valueOf(w uint64, unsigned bool) *big.Int {
	if unsigned {
		return new(big.Int).SetUint64(w)
	}
	return big.NewInt(int64(w))
}

// inWord is a number as a word of a type; false if it does not fit.
func inWord(v *big.Int, unsigned bool) (uint64, bool) {
	switch {
	case v == nil:
		return 0, false
	case unsigned:
		return v.Uint64(), v.IsUint64()
	}
	return uint64(v.Int64()), v.IsInt64()
}

// TestCheckedOperators checks that checked operators have the results of numbers without bounds, or
// fail where these do not fit the type of the result, for numbers with and without a sign on either
// side.
func TestCheckedOperators(t *testing.T) {
	for op := expr.OpAddC; op <= expr.OpShrC; op++ {
		shift := op == expr.OpShlC || op == expr.OpShrC
		var kinds [][3]bool // x, y and the result are unsigned
		for i := range 8 {
			k := [3]bool{i&1 != 0, i&2 != 0, i&4 != 0}
			if !shift || k[0] == k[2] {
				kinds = append(kinds, k)
			}
		}
		// The output is, for each kind, whether it failed, and the result.
		b := bpftest.Builder{In: 16, Out: 16 * len(kinds)}
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, _ assembler.Label) {
			for i, k := range kinds {
				fail, end := c.Label(), c.Label()
				x := &expr.Local{T: expr.Type{Kind: expr.Int, Unsigned: k[0]}}
				y := &expr.Local{Index: 1, T: expr.Type{Kind: expr.Int, Unsigned: k[1]}}
				n := &expr.Binary{Op: op, T: expr.Type{Kind: expr.Int, Unsigned: k[2]}, X: x, Y: y}
				at := out + int16(16*i)
				c.Load(asm.R0, in)
				c.Load(asm.R1, in+8)
				if !(ints{Code: c, fail: fail}).checked(n) {
					t.Fatalf("%s: got no operator", op)
				}
				c.Store(at+8, asm.R0)
				c.GoTo(end)
				c.Place(fail)
				c.Emit(assembler.StoreImm(asm.R10, at, 1))
				c.Place(end)
			}
		})
		for _, x := range edges {
			for _, y := range edges {
				out, _ := p.Words(uint64(x), uint64(y))
				for i, k := range kinds {
					z := exact(op, valueOf(uint64(x), k[0]), valueOf(uint64(y), k[1]))
					want, fits := inWord(z, k[2])
					if got, failed := out[2*i+1], out[2*i] != 0; failed == fits || fits && got != want {
						t.Errorf("%d %s %d, unsigned %v: got %#x, failed %t, want %v", x, op, y, k, got, failed, z)
					}
				}
			}
		}
	}
}

// C's division rounds to zero, and the remainder has the sign of the dividend.
func TestDivideSigned(t *testing.T) {
	for _, mod := range []bool{false, true} {
		b := bpftest.Builder{In: 16, Out: 8}
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
			c.Load(asm.R0, in)
			c.Load(asm.R1, in+8)
			ints{Code: c, fail: fail}.divideSigned(mod)
			c.Store(out, asm.R0)
		})
		for _, x := range edges {
			for _, y := range edges {
				out, ok := p.Words(uint64(x), uint64(y))
				switch {
				case y == 0 || !mod && x == math.MinInt64 && y == -1:
					if ok {
						t.Errorf("%d by %d, mod %t: got %d, want a failure", x, y, mod, int64(out[0]))
					}
				case !ok:
					t.Errorf("%d by %d, mod %t: got a failure", x, y, mod)
				case mod && int64(out[0]) != x%y, !mod && int64(out[0]) != x/y:
					t.Errorf("%d by %d, mod %t: got %d", x, y, mod, int64(out[0]))
				}
			}
		}
	}
}
