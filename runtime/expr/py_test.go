package expr_test

import (
	"errors"
	"math/big"
	"math/rand"
	"testing"

	. "ppscript/runtime/expr"
)

// pyResult is Python's result; nil if it raises.
func pyResult(op string, x, y *big.Int) *big.Int {
	r := new(big.Int)
	switch op {
	case "+":
		return r.Add(x, y)
	case "-":
		return r.Sub(x, y)
	case "*":
		return r.Mul(x, y)
	case "&":
		return r.And(x, y)
	case "|":
		return r.Or(x, y)
	case "^":
		return r.Xor(x, y)
	case "<<", ">>":
		if y.Sign() < 0 {
			return nil
		}
		if y.Cmp(big.NewInt(200)) > 0 {
			if op == "<<" && x.Sign() != 0 {
				return r.Lsh(big.NewInt(1), 300) // too large in any case
			}
			y = big.NewInt(200)
		}
		if op == "<<" {
			return r.Lsh(x, uint(y.Int64()))
		}
		return r.Rsh(x, uint(y.Int64()))
	}
	if y.Sign() == 0 {
		return nil
	}
	// Floor division.
	q, m := new(big.Int).DivMod(x, y, r)
	if m.Sign() != 0 && y.Sign() < 0 {
		q.Sub(q, big.NewInt(1))
		m.Add(m, y)
	}
	if op == "//" {
		return q
	}
	return m
}

// TestPyArithmetic: a checked operation gives Python's result or an error,
// and an error only if the result does not fit its type or Python raises.
func TestPyArithmetic(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	values := append([]int64{}, edges...)
	for i := 0; i < 10; i++ {
		values = append(values, int64(r.Uint64())>>uint(r.Intn(64)))
	}
	ops := []string{"+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"}
	for _, xv := range values {
		for _, yv := range values {
			for signs := 0; signs < 4; signs++ {
				xu, yu := signs&1 != 0, signs&2 != 0
				x, y := bigOf(xv, xu), bigOf(yv, yu)
				for _, op := range ops {
					// As constants are folded, and as locals of a sequence.
					lx, ly := NewLocal(0, "x", Type{Kind: Int, Unsigned: xu}),
						NewLocal(1, "y", Type{Kind: Int, Unsigned: yu})
					kx, ky := Retype(NewInt(xv), xu), Retype(NewInt(yv), yu)
					for variant, args := range [][2]Node{{lx, ly}, {lx, ky}, {kx, ly}, {kx, ky}} {
						n, err := PyBinary(op, args[0], args[1])
						if err != nil {
							t.Fatal(err)
						}
						set0, _ := NewSet(0, "x", kx)
						set1, _ := NewSet(1, "y", ky)
						all, _ := NewSeq(set0, set1, n)
						p := Build(all)
						var f Frame
						got := bigOf(p.Int(&f), n.Type().Unsigned)
						want := pyResult(op, x, y)
						fits := want != nil && (n.Type().Unsigned && want.IsUint64() ||
							!n.Type().Unsigned && want.IsInt64())
						if fits && (f.Err != nil || got.Cmp(want) != 0) {
							t.Fatalf("%v %s %v (variant %d): got %v (%v), want %v", x, op,
								y, variant, got, f.Err, want)
						}
						if !fits && f.Err == nil {
							t.Fatalf("%v %s %v (variant %d): got %v without error, want %v", x, op,
								y, variant, got, want)
						}
					}
				}
			}
		}
	}
}

func TestPyUnary(t *testing.T) {
	for _, v := range edges {
		for _, unsigned := range []bool{false, true} {
			x := bigOf(v, unsigned)
			for op, want := range map[string]*big.Int{
				"-": new(big.Int).Neg(x), "~": new(big.Int).Not(x), "+": x,
			} {
				n, err := PyUnary(op, NewLocal(0, "x", Type{Kind: Int, Unsigned: unsigned}))
				if err != nil {
					t.Fatal(err)
				}
				set, _ := NewSet(0, "x", Retype(NewInt(v), unsigned))
				all, _ := NewSeq(set, n)
				var f Frame
				got := bigOf(Build(all).Int(&f), n.Type().Unsigned)
				fits := want.IsInt64() || n.Type().Unsigned && want.IsUint64()
				if fits && (f.Err != nil || got.Cmp(want) != 0) || !fits && !errors.Is(f.Err, ErrOverflow) {
					t.Errorf("%s%v: got %v (%v), want %v", op, x, got, f.Err, want)
				}
			}
		}
	}
}

func TestPyFloat(t *testing.T) {
	f := func(op string, x, y Node, want float64) {
		t.Helper()
		n, err := PyBinary(op, x, y)
		if err != nil {
			t.Fatal(err)
		}
		var fr Frame
		if got := Build(n).Float(&fr); got != want || fr.Err != nil {
			t.Errorf("%s: got %v (%v), want %v", n, got, fr.Err, want)
		}
	}
	f("/", NewInt(7), NewInt(2), 3.5)
	f("/", NewUint(1<<63), NewInt(1), 1<<63)
	f("*", newFloat(1.5), NewInt(2), 3)
	f("-", NewInt(1), newFloat(0.5), 0.5)
	n, _ := PyBinary("/", NewInt(1), NewInt(0))
	var fr Frame
	if Build(n).Float(&fr); !errors.Is(fr.Err, ErrDivide) {
		t.Errorf("1/0: got %v, want %v", fr.Err, ErrDivide)
	}
	n, _ = PyBinary("<", NewInt(1), newFloat(1.5))
	if !Build(n).Bool(&fr) {
		t.Errorf("1 < 1.5: got false")
	}
}

func TestPyTypeErrors(t *testing.T) {
	for _, op := range []string{"+", "&", "//", "<", "in"} {
		if n, err := PyBinary(op, NewStr("a"), NewInt(1)); err == nil {
			t.Errorf("\"a\" %s 1: got %v, want an error", op, n)
		}
	}
	if _, err := PyBinary("**", NewInt(1), NewInt(1)); err == nil {
		t.Error("**: no error")
	}
	if _, err := PyUnary("-", NewStr("a")); err == nil {
		t.Error("-\"a\": no error")
	}
	if _, err := NewCond(NewBool(true), NewStr("a"), NewInt(1)); err == nil {
		t.Error("text or number: no error")
	}
}
