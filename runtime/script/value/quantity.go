package value

import (
	"errors"
	"math"
	"math/big"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file has the arithmetic of Duration, Time and Size. All three are int64
// numbers of a base unit, and an overflow is an error. A Starlark int would
// silently become a big integer instead, without a unit and slow.

var (
	errOverflow = errors.New("result does not fit in 64 bits")
	errZero     = errors.New("division by zero")
)

func addInt(a, b int64) (int64, error) {
	c := a + b
	if (c > a) != (b > 0) && b != 0 {
		return 0, errOverflow
	}
	return c, nil
}

func subInt(a, b int64) (int64, error) {
	c := a - b
	if (c < a) != (b > 0) && b != 0 {
		return 0, errOverflow
	}
	return c, nil
}

func mulInt(a, b int64) (int64, error) {
	if a == 0 || b == 0 {
		return 0, nil
	}
	c := a * b
	if c/b != a || a == -1 && b == math.MinInt64 || b == -1 && a == math.MinInt64 {
		return 0, errOverflow
	}
	return c, nil
}

func floorDiv(a, b int64) (int64, error) {
	switch {
	case b == 0:
		return 0, errZero
	case a == math.MinInt64 && b == -1:
		return 0, errOverflow
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, nil
}

func floorMod(a, b int64) (int64, error) {
	if b == 0 {
		return 0, errZero
	}
	if b == -1 {
		return 0, nil
	}
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m, nil
}

// RoundFloat is the nearest integer, with halves rounded away from 0; ok is false if it
// does not fit in 64 bits.
func RoundFloat(f float64) (int64, error) {
	f = math.Round(f)
	// The bounds are exact: 2^63 is a float64, 2^63-1 is not.
	if math.IsNaN(f) || f >= 1<<63 || f < -(1<<63) {
		return 0, errOverflow
	}
	return int64(f), nil
}

// scale computes n op y for the operators that keep the unit: * / // by a plain
// number. ok is false for other operators.
func scale(op syntax.Token, n int64, y starlark.Value, side starlark.Side) (r int64, ok bool, err error) {
	if side == starlark.Right && op != syntax.STAR {
		return 0, false, nil
	}
	switch y := y.(type) {
	case starlark.Int:
		m, fits := y.Int64()
		switch {
		case op != syntax.STAR && op != syntax.SLASH && op != syntax.SLASHSLASH:
			return 0, false, nil
		case !fits:
			return 0, true, errOverflow
		case op == syntax.STAR:
			r, err = mulInt(n, m)
		case op == syntax.SLASHSLASH:
			r, err = floorDiv(n, m)
		default:
			r, err = DivideInt(n, m)
		}
		return r, true, err
	case starlark.Float:
		f := float64(y)
		switch {
		case op == syntax.STAR:
			r, err = RoundFloat(float64(n) * f)
		case op != syntax.SLASH:
			return 0, false, nil
		default:
			r, err = DivideFloat(n, f)
		}
		return r, true, err
	}
	return 0, false, nil
}

// DivideFloat is n / f, rounded to nearest.
func DivideFloat(n int64, f float64) (int64, error) {
	if f == 0 {
		return 0, errZero
	}
	return RoundFloat(float64(n) / f)
}

// DivideInt is n / m rounded to nearest, exactly.
func DivideInt(n, m int64) (int64, error) {
	switch {
	case m == 0:
		return 0, errZero
	case m == -1 && n == math.MinInt64:
		return 0, errOverflow
	}
	q, r := n/m, n%m
	a, b := magnitude(r), magnitude(m)
	if a >= b-a { // 2a >= b without overflow
		if (n < 0) != (m < 0) {
			return q - 1, nil
		}
		return q + 1, nil
	}
	return q, nil
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// same computes a op b of two numbers with the same unit. The result of + - %
// has the unit, the result of / and // is a plain number.
func same(op syntax.Token, a, b int64) (count int64, plain starlark.Value, err error) {
	switch op {
	case syntax.PLUS:
		count, err = addInt(a, b)
	case syntax.MINUS:
		count, err = subInt(a, b)
	case syntax.PERCENT:
		count, err = floorMod(a, b)
	case syntax.SLASH:
		if b == 0 {
			return 0, nil, errZero
		}
		plain = starlark.Float(float64(a) / float64(b))
	case syntax.SLASHSLASH:
		q, err := floorDiv(a, b)
		if err != nil {
			return 0, nil, err
		}
		plain = starlark.MakeInt64(q)
	default:
		err = errNoOp
	}
	return count, plain, err
}

// errNoOp says that the operator is not supported; Starlark then reports it
// with both types.
var errNoOp = errors.New("no such operator")

func hashInt(n int64) uint32 {
	h := uint64(n) * 0x9e3779b97f4a7c15
	return uint32(h >> 32)
}

// BigUint returns v as a Starlark int; above 2^31 it allocates.
func BigUint(v uint64) starlark.Int {
	if v <= math.MaxInt64 {
		return starlark.MakeInt64(int64(v))
	}
	return starlark.MakeBigInt(new(big.Int).SetUint64(v))
}
