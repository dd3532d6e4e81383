package agg

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/result"
)

// This file moves arithmetic with constants behind the aggregators: the sum of x / 4 is computed as
// the sum of x, divided by 4. Programs of the kernel have no doubles, but they can add up the
// integers x. The sum of integers is also exact, while each quotient would be rounded. Minimum,
// maximum and quantiles are taken of x; the function is then applied to the one value.

// A Linear is a linear function of an integer, as the steps in which it is computed in doubles. Nil
// is the identity.
type Linear []LinearStep

// A LinearStep is + - * or / with a constant.
type LinearStep struct {
	Op    byte
	Const float64
}

// moves says behind which linear functions of its argument an aggregator stays
// valid.
type moves uint8

const (
	inPlace moves = iota // none
	rising               // functions that keep the order of numbers
	linear               // all
)

// SplitLinear splits a node into an integer and a linear function of it. ok is false if the node
// has another form, or if a step may leave the range of doubles.
func SplitLinear(n expr.Node) (x expr.Node, l Linear, ok bool) {
	l = Linear{}
	for x == nil {
		step := LinearStep{Op: '*', Const: -1}
		switch f := n.(type) {
		case *expr.Unary:
			if f.Op == expr.OpToFloat && f.X.Type().Kind == expr.Int {
				x = f.X
				continue
			}
			if f.Op != expr.OpFNeg {
				return nil, nil, false
			}
			n = f.X
		case *expr.Binary:
			a, left := f.X.(*expr.Const)
			b, right := f.Y.(*expr.Const)
			switch op := f.Op; {
			case right && op == expr.OpFAdd:
				n, step = f.X, LinearStep{'+', b.Float}
			case right && op == expr.OpFSub:
				n, step = f.X, LinearStep{'-', b.Float}
			case right && op == expr.OpFMul:
				n, step = f.X, LinearStep{'*', b.Float}
			case right && op == expr.OpFDiv:
				n, step = f.X, LinearStep{'/', b.Float}
			case left && op == expr.OpFAdd:
				n, step = f.Y, LinearStep{'+', a.Float}
			case left && op == expr.OpFMul:
				n, step = f.Y, LinearStep{'*', a.Float}
			case left && op == expr.OpFSub: // constant minus x: another step changes the sign
				n, l = f.Y, append(l, LinearStep{'+', a.Float})
			default:
				return nil, nil, false
			}
		default:
			return nil, nil, false
		}
		l = append(l, step)
	}
	for i, j := 0, len(l)-1; i < j; i, j = i+1, j-1 {
		l[i], l[j] = l[j], l[i]
	}
	return x, l, l.Valid()
}

// Valid reports that no step leaves the range of doubles, for any 64-bit integer.
func (l Linear) Valid() bool {
	const most = 1e200
	slope, offset := 1.0, 0.0
	for _, s := range l {
		switch s.Op {
		case '+', '-':
			offset += math.Abs(s.Const)
		case '*':
			slope, offset = slope*s.Const, offset*math.Abs(s.Const)
		case '/':
			slope, offset = slope/s.Const, offset/math.Abs(s.Const)
		default:
			return false
		}
		if size := math.Abs(slope); !(size >= 1/most && size <= most && offset <= most) {
			return false
		}
	}
	return true
}

// slope is the function's factor.
func (l Linear) slope() float64 {
	slope := 1.0
	for _, s := range l {
		switch s.Op {
		case '*':
			slope *= s.Const
		case '/':
			slope /= s.Const
		}
	}
	return slope
}

// Moves reports that the function can be applied behind an aggregator.
func (o *Op) Moves(l Linear) bool {
	return o.moves == linear || o.moves == rising && l.slope() > 0
}

// At applies the function to a number.
func (l Linear) At(n event.Number) event.Number {
	x := n.Float()
	for _, s := range l {
		switch s.Op {
		case '+':
			x += s.Const
		case '-':
			x -= s.Const
		case '*':
			x *= s.Const
		case '/':
			x /= s.Const
		}
	}
	return event.FloatNumber(x)
}

// total applies the function to a sum of n numbers, without rounding.
func (l Linear) total(sum Total, n uint64) *big.Rat {
	x := new(big.Rat)
	if main, rest := sum.parts(); sum.kind == event.FloatValue {
		x.SetFloat64(main)
		x.Add(x, new(big.Rat).SetFloat64(rest))
	} else {
		size, negative := sum.size()
		whole := new(big.Int).SetUint64(size[0])
		whole.Add(whole.Lsh(whole, 64), new(big.Int).SetUint64(size[1]))
		if negative {
			whole.Neg(whole)
		}
		x.SetInt(whole)
	}
	times := new(big.Rat).SetUint64(n)
	for _, s := range l {
		k := new(big.Rat).SetFloat64(s.Const)
		switch s.Op {
		case '+':
			x.Add(x, k.Mul(k, times))
		case '-':
			x.Sub(x, k.Mul(k, times))
		case '*':
			x.Mul(x, k)
		case '/':
			x.Quo(x, k)
		}
	}
	return x
}

// sum is the sum of an aggregator's numbers, after the function.
func (a *Agg) sum(m *Measure) event.Value {
	if a.Linear == nil {
		return m.Sum().Value()
	}
	v, _ := a.Linear.total(m.Sum(), m.N).Float64()
	return event.FloatOf(v)
}

// mean is the mean of an aggregator's numbers, after the function. There must
// be at least one.
func (a *Agg) mean(m *Measure) event.Value {
	if a.Linear == nil {
		return m.mean()
	}
	x := a.Linear.total(m.Sum(), m.N)
	v, _ := x.Quo(x, new(big.Rat).SetUint64(m.N)).Float64()
	return event.FloatOf(v)
}

// number applies the function to one of an aggregator's numbers.
func (a *Agg) number(n event.Number) event.Value {
	if a.Linear == nil {
		return n.Value()
	}
	return a.Linear.At(n).Value()
}

// far is the margin of a count or a sum after the function, computed from the measure's.
func (a *Agg) far(d Doubt) Far {
	switch {
	case a.Op != Sum:
		return d.N
	case a.Linear == nil:
		return d.Sum
	}
	slope := math.Abs(a.Linear.slope())
	offset := math.Abs(a.Linear.At(event.IntNumber(0)).Float())
	f := scaledFar(d.Sum, slope)
	if offset == 0 {
		return f
	}
	n := scaledFar(d.N, offset)
	if f == boundless || n == boundless {
		return boundless
	}
	root := math.Sqrt(f.Square) + math.Sqrt(n.Square) // the bias of both adds up
	return Far{Square: root * root, Bias: f.Bias + n.Bias}
}

func scaledFar(f Far, factor float64) Far {
	if f == boundless {
		return f
	}
	return Far{Square: f.Square * factor * factor, Bias: f.Bias * factor}
}

// spread applies the function, which must be rising, to the bounds of a distribution.
func (l Linear) spread(of []result.Bucket) []result.Bucket {
	if l == nil {
		return of
	}
	bound := func(v int64) int64 {
		if v == result.OpenHi {
			return v
		}
		return l.At(event.IntNumber(v)).Int()
	}
	var list []result.Bucket
	for _, b := range of {
		lo := bound(b.Lo)
		hi := max(bound(b.Hi), lo+1)
		if last := len(list) - 1; last >= 0 && list[last].Lo == lo {
			list[last].Count += b.Count
			list[last].Hi = max(list[last].Hi, hi)
			continue
		}
		list = append(list, result.Bucket{Lo: lo, Hi: hi, Count: b.Count})
	}
	return list
}

// String is the function as a formula of x.
func (l Linear) String() string {
	if l == nil {
		return ""
	}
	text := "x"
	for i, s := range l {
		if i > 0 && strings.ContainsRune("*/", rune(s.Op)) {
			text = "(" + text + ")"
		}
		text += fmt.Sprintf(" %c %s", s.Op, strconv.FormatFloat(s.Const, 'g', -1, 64))
	}
	return text
}
