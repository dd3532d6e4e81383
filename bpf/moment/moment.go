// Package moment knows which values of a fold's functions are times. Programs have
// another clock than perf, so a time by itself would differ from that of the other
// engines; the difference of two times does not. So a function may only keep, compare
// and subtract times, and ask whether there is one. Package bpf has it check the
// functions before it generates a fold.
package moment

import (
	"errors"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Check is an error if step functions do more with times: steps are all of a fold. One
// may read a value from the state that another one, of another event, stores there.
func Check(steps []expr.Node) error {
	f := &finder{moments: map[int]bool{}}
	locals := make([]map[int]bool, len(steps))
	// A value that is subtracted from a time may turn out to be a time. So
	// values that are stored unchanged come first, and only then differences of
	// a time and a number.
	for _, f.rough = range []bool{true, false} {
		for known := -1; known < len(f.moments); {
			known = len(f.moments)
			for i, step := range steps {
				locals[i] = f.times(step)
			}
		}
	}
	for i, step := range steps {
		if f.leaves(step, locals[i], true) {
			return errLeaves
		}
	}
	return nil
}

var errLeaves = errors.New(
	"times: the kernel's programs have another clock than perf, and only differences are the same")

// A finder finds the times of a fold: slots of its state, and locals.
type finder struct {
	moments map[int]bool // the slots
	rough   bool         // while they are looked for first, see Check
}

// times finds the slots, and returns the locals, that hold times as far as is
// known.
func (f *finder) times(step expr.Node) (locals map[int]bool) {
	locals = map[int]bool{}
	// Twice: a function may read a slot before the place where a time is
	// stored to it.
	for range 2 {
		expr.Walk(step, func(n expr.Node) bool {
			switch n := n.(type) {
			case *expr.StoreState:
				if n.X.Type().Kind != expr.Str && f.moment(n.X, locals) {
					f.moments[n.Slot] = true
				}
			case *expr.StoreElem: // any of them
				for i := range n.Len {
					if f.moment(n.X, locals) {
						f.moments[n.Slot+i] = true
					}
				}
			case *expr.Set:
				if f.moment(n.X, locals) {
					locals[n.Index] = true
				}
			}
			return true
		})
	}
	return locals
}

// moment reports that a number is a time.
func (f *finder) moment(n expr.Node, locals map[int]bool) bool {
	switch n := n.(type) {
	case *expr.Field:
		return Is(n)
	case *expr.LoadState:
		return n.T.Numeric() && f.moments[n.Slot]
	case *expr.LoadElem:
		for i := range n.Len {
			if f.moments[n.Slot+i] {
				return true
			}
		}
	case *expr.Local:
		return locals[n.Index]
	case *expr.Quantity:
		return f.moment(n.X, locals)
	case *expr.Seq:
		return n.T.Numeric() && f.moment(n.List[len(n.List)-1], locals)
	case *expr.Set:
		return f.moment(n.X, locals)
	case *expr.Func:
		return f.returns(n, locals)
	case *expr.Unary:
		return (n.Op == expr.OpSigned || n.Op == expr.OpUnsigned) && f.moment(n.X, locals)
	case *expr.Cond:
		return f.moment(n.Then, locals) || f.moment(n.Else, locals)
	case *expr.Binary:
		x, y := f.moment(n.X, locals), f.moment(n.Y, locals)
		return added(n.Op) && (x || y) || subtracted(n.Op) && x && !y && !f.rough
	}
	return false
}

// returns reports that a function returns a time.
func (f *finder) returns(n *expr.Func, locals map[int]bool) (found bool) {
	expr.Walk(n.Body, func(n expr.Node) bool {
		if r, ok := n.(*expr.Return); ok && r.X != nil {
			found = found || f.moment(r.X, locals)
		}
		return !found
	})
	return found
}

// Is reports that a field is the time of an event.
func Is(n *expr.Field) bool {
	return n.F.Place == event.InMember && n.F.Member == event.MemberTime && n.View == expr.ViewValue
}

func added(op expr.Op) bool      { return op == expr.OpAdd || op == expr.OpAddC }
func subtracted(op expr.Op) bool { return op == expr.OpSub || op == expr.OpSubC }

// leaves reports that a time leaves the fold; kept says that n is kept by it.
func (f *finder) leaves(n expr.Node, locals map[int]bool, kept bool) bool {
	if !kept && f.moment(n, locals) {
		return true
	}
	if s, ok := n.(*expr.StoreElem); ok {
		return f.leaves(s.X, locals, true) || f.leaves(s.I, locals, false)
	}
	for _, c := range expr.Children(n) {
		if f.leaves(c, locals, f.keeps(n, locals)) {
			return true
		}
	}
	return false
}

// keeps reports that the result of n's operands is no time, or is kept.
func (f *finder) keeps(n expr.Node, locals map[int]bool) bool {
	switch n := n.(type) {
	case *expr.StoreState, *expr.Set, *expr.Seq, *expr.If, *expr.Func, *expr.Return,
		*expr.Quantity, *expr.Cond:
		return true
	case *expr.Unary:
		return n.Op == expr.OpTruth || n.Op == expr.OpSigned || n.Op == expr.OpUnsigned
	case *expr.Binary:
		compared := n.Op >= expr.OpEq && n.Op <= expr.OpLeUS || n.Op == expr.OpAndB || n.Op == expr.OpOrB
		both := f.moment(n.X, locals) == f.moment(n.Y, locals)
		return compared || subtracted(n.Op) && both || f.moment(n, locals)
	}
	return false
}
