package expr

import "ppscript/runtime/event"

// This file and the native_*.go files are the back end that runs everywhere:
// each node becomes a closure over its operands' closures, built once.
//
// Closures, not a register machine: BenchmarkPredicate has both. For two
// comparisons of fields with constants it shows 3 ns for each event against 10
// or more, for one 3.4 against 5.7 or more (AMD EPYC, amd64). The machine
// decodes an instruction for each operation and passes values through memory; a
// closure has its constants inside, and the common predicates are fused into
// one closure (fuse.go). For long arithmetic, indirect jumps dominate in both.

type (
	intFn   func(*Frame) int64
	boolFn  func(*Frame) bool
	strFn   func(*Frame) []byte
	floatFn func(*Frame) float64
	// stmtFn runs a statement; true means that it returned, the value being
	// in Frame.ret.
	stmtFn func(*Frame) bool
)

// genStmt compiles any node as a statement.
func genStmt(n Node) stmtFn {
	switch n := n.(type) {
	case *Seq:
		if n.T.Kind == Void {
			return genBlock(n.List)
		}
	case *If:
		test, then := genBool(n.Test), genStmt(n.Then)
		if n.Else == nil {
			return func(f *Frame) bool {
				if test(f) {
					return then(f)
				}
				return false
			}
		}
		other := genStmt(n.Else)
		return func(f *Frame) bool {
			if test(f) {
				return then(f)
			}
			return other(f)
		}
	case *Return:
		return genReturn(n)
	case *StoreState:
		return genStore(n)
	case *StoreElem:
		return genStoreElem(n)
	case *Emit:
		return genEmit(n)
	case *Func:
		if n.T.Kind == Void {
			body := genStmt(n.Body)
			return func(f *Frame) bool { body(f); return false }
		}
	case *TupleOf:
		return genBlock(n.Elems)
	}
	switch n.Type().Kind {
	case Int, Bool:
		x := genInt(n)
		return func(f *Frame) bool { x(f); return false }
	case Str:
		x := genStr(n)
		return func(f *Frame) bool { x(f); return false }
	case Float:
		x := genFloat(n)
		return func(f *Frame) bool { x(f); return false }
	}
	panic("BUG: no code for statement " + n.String())
}

func genBlock(list []Node) stmtFn {
	switch len(list) {
	case 0:
		return func(*Frame) bool { return false }
	case 1:
		return genStmt(list[0])
	case 2:
		a, b := genStmt(list[0]), genStmt(list[1])
		return func(f *Frame) bool { return a(f) || b(f) }
	}
	// A tree of calls with known targets is faster than a loop over the list.
	half := len(list) / 2
	a, b := genBlock(list[:half]), genBlock(list[half:])
	if half == 1 {
		c, d := genStmt(list[1]), genBlock(list[2:])
		return func(f *Frame) bool { return a(f) || c(f) || d(f) }
	}
	return func(f *Frame) bool { return a(f) || b(f) }
}

func genReturn(n *Return) stmtFn {
	if n.X == nil {
		return func(*Frame) bool { return true }
	}
	switch n.X.Type().Kind {
	case Str:
		x := genStr(n.X)
		return func(f *Frame) bool { f.ret.S = x(f); return true }
	case Float:
		x := genFloat(n.X)
		return func(f *Frame) bool { f.ret.I = floatBits(x(f)); return true }
	}
	x := genInt(n.X)
	return func(f *Frame) bool { f.ret.I = x(f); return true }
}

func genStore(n *StoreState) stmtFn {
	if n.X.Type().Kind == Str {
		return genStoreText(n)
	}
	if fn := fuseStore(n); fn != nil {
		return fn
	}
	x, slot := genInt(n.X), n.Slot
	return func(f *Frame) bool {
		v := x(f)
		if slot < len(f.State) {
			// After an error, the rest of the evaluation does not change the
			// state.
			if f.Err == nil {
				f.State[slot] = v
			}
		} else {
			f.Fail(ErrMissing)
		}
		return false
	}
}

func genStoreElem(n *StoreElem) stmtFn {
	if fn := fuseStoreElem(n); fn != nil {
		return fn
	}
	x, i, slot, size := genInt(n.X), genInt(n.I), n.Slot, n.Len
	return func(f *Frame) bool {
		v := x(f)
		if e := f.elem(slot, size, i(f)); e != nil && f.Err == nil {
			*e = v
		}
		return false
	}
}

// elem is element i of a list of the state; nil with Err set if there is none.
func (f *Frame) elem(slot, size int, i int64) *int64 {
	at, ok := elemAt(i, size)
	switch {
	case !ok:
		f.Fail(ErrIndex)
	case slot+at >= len(f.State):
		f.Fail(ErrMissing)
	default:
		return &f.State[slot+at]
	}
	return nil
}

func genLoadElem(n *LoadElem) intFn {
	i, slot, size := genInt(n.I), n.Slot, n.Len
	return func(f *Frame) int64 {
		if e := f.elem(slot, size, i(f)); e != nil {
			return *e
		}
		return 0
	}
}

func genStoreText(n *StoreState) stmtFn {
	x, slot := genStr(n.X), n.Slot
	return func(f *Frame) bool {
		v := x(f)
		switch {
		case slot >= len(f.Texts):
			f.Fail(ErrMissing)
		case len(v) > MaxStateText:
			f.Fail(ErrLong)
		case f.Err == nil:
			// v may be a part of the slot itself: append moves like memmove.
			f.Texts[slot] = append(f.Texts[slot][:0], v...)
		}
		return false
	}
}

func genEmit(n *Emit) stmtFn {
	push := genArgs(n.Args)
	id := n.ID
	return func(f *Frame) bool {
		base := len(f.args)
		push(f)
		if f.Err == nil && f.Emit != nil {
			f.Emit(f, id, f.args[base:])
		}
		f.args = f.args[:base]
		return false
	}
}

// genArgs pushes the values of arguments onto Frame.args. The caller removes
// them.
func genArgs(args []Node) func(*Frame) {
	fns := make([]func(*Frame) Arg, len(args))
	for i, a := range args {
		fns[i] = genArg(a)
	}
	return func(f *Frame) {
		for _, fn := range fns {
			// An argument may use the free part of f.args itself, and restores
			// it.
			v := fn(f)
			f.args = append(f.args, v)
		}
	}
}

func genArg(n Node) func(*Frame) Arg {
	switch k := n.Type().Kind; k {
	case Str:
		x := genStr(n)
		return func(f *Frame) Arg { return Arg{Kind: Str, S: x(f)} }
	case Float:
		x := genFloat(n)
		return func(f *Frame) Arg { return Arg{Kind: Float, I: floatBits(x(f))} }
	default:
		x := genInt(n)
		return func(f *Frame) Arg { return Arg{Kind: k, I: x(f)} }
	}
}

// genValue compiles a node to an event.Value; it allocates for texts.
func genValue(n Node) func(*Frame) event.Value {
	if t, ok := n.(*TupleOf); ok {
		fns := make([]func(*Frame) event.Value, len(t.Elems))
		for i, e := range t.Elems {
			fns[i] = genValue(e)
		}
		return func(f *Frame) event.Value {
			vs := make([]event.Value, len(fns))
			for i, fn := range fns {
				vs[i] = fn(f)
			}
			return event.ListOf(vs...)
		}
	}
	if q, ok := n.(*Quantity); ok {
		return quantityValue(q)
	}
	if fl, ok := n.(*Field); ok && fl.View == ViewValue && fl.F.Kind != event.Str {
		return fieldValueOf(fl)
	}
	switch t := n.Type(); t.Kind {
	case Str:
		x := genStr(n)
		return func(f *Frame) event.Value { return event.StrOf(string(x(f))) }
	case Float:
		x := genFloat(n)
		return func(f *Frame) event.Value { return event.FloatOf(x(f)) }
	case Bool:
		x := genBool(n)
		return func(f *Frame) event.Value { return event.BoolOf(x(f)) }
	case Int:
		x := genInt(n)
		if t.Unsigned {
			return func(f *Frame) event.Value { return event.UintOf(uint64(x(f))) }
		}
		return func(f *Frame) event.Value { return event.IntOf(x(f)) }
	}
	x := genStmt(n)
	return func(f *Frame) event.Value { x(f); return event.Value{} }
}

func quantityValue(n *Quantity) func(*Frame) event.Value {
	x := genInt(n.X)
	switch n.Unit {
	case event.Nanos:
		return func(f *Frame) event.Value { return event.DurationOf(x(f)) }
	case event.Moment:
		return func(f *Frame) event.Value { return event.TimeOf(event.Time(x(f))) }
	}
	return func(f *Frame) event.Value { return event.IntOf(x(f)) }
}

// fieldValueOf reads a field as a Value with its kind and unit: a duration
// stays a duration, an array becomes a list.
func fieldValueOf(n *Field) func(*Frame) event.Value {
	fld, part := n.F, n.Part
	switch {
	case fld.Place == event.InSlot || fld.Kind == event.Float:
		return func(f *Frame) event.Value {
			e := f.part(part)
			if e == nil || e.Derived == nil || fld.Offset >= len(e.Derived.Slots) {
				f.Fail(ErrMissing)
				return event.Value{}
			}
			return e.Derived.Slots[fld.Offset]
		}
	case fld.Kind == event.Int:
		x := genInt(n)
		return func(f *Frame) event.Value { return fld.Number(x(f)) }
	}
	locate := genStr(n)
	return func(f *Frame) event.Value {
		if locate(f); f.Err != nil {
			return event.Value{}
		}
		return fld.Value(f.part(part))
	}
}
