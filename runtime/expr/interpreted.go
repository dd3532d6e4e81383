package expr

import "ppscript/runtime/event"

// interpreterHere is the HostOnly reason of functions that stay interpreted.
const interpreterHere = "it stays interpreted"

// Interpreted makes a Program of a function that cannot be compiled. want is the type of its
// results: Int (TInt or TUint), Float, Str, or Any for all kinds of values. A result of another
// kind, or one that does not fit, sets Frame.Err.
//
// The interpreter's state is not shared: only one goroutine may use such a
// Program.
func Interpreted(call func(*event.Event) (event.Value, error), want Type) *Program {
	value := func(f *Frame) event.Value {
		v, err := call(f.Event)
		if err != nil {
			f.Fail(err)
		}
		return v
	}
	kind := want.Plain().ValueKind()
	integer := func(f *Frame, _ []Arg) int64 {
		n, ok := value(f).Number()
		if !ok {
			f.Fail(ErrKind)
			return 0
		}
		whole := n.Int()
		if kind == event.UintValue && n.Kind() == event.UintValue {
			whole = n.Bits()
		}
		if n.Compare(event.NumberOf(kind, whole)) != 0 {
			f.Fail(ErrWhole)
		}
		return whole
	}
	switch want.Kind {
	case Int:
		return Build(&Native{Name: "interpreted", Traits: Interprets, T: want.Plain(), Effect: true,
			HostOnly: interpreterHere, Int: integer})
	case Float:
		return Build(&Native{Name: "interpreted", Traits: Interprets, T: TFloat, Effect: true,
			HostOnly: interpreterHere,
			Float: func(f *Frame, _ []Arg) float64 {
				v := value(f)
				if !v.Numeric() && f.Err == nil {
					f.Fail(ErrKind)
				}
				return v.Float()
			}})
	case Bool:
		return Build(&Native{Name: "interpreted", Traits: Interprets, T: TBool, Effect: true,
			HostOnly: interpreterHere,
			Int: func(f *Frame, _ []Arg) int64 {
				if value(f).Bool() {
					return 1
				}
				return 0
			}})
	case Str:
		return Build(&Native{Name: "interpreted", Traits: Interprets, T: TStr, Effect: true,
			HostOnly: interpreterHere,
			Str: func(f *Frame, _ []Arg) []byte {
				return f.Keep(append(f.Scratch(), value(f).String()...))
			}})
	}
	return &Program{
		Type:  Type{Kind: Any},
		Value: value,
		Bool:  func(f *Frame) bool { return value(f).Bool() },
		Run:   func(f *Frame) { value(f) },
	}
}

// InterpretedStep makes a Program of a fold's step function that cannot be
// compiled. call reads the frame's event, changes its state, and reports an
// error by Frame.Fail.
func InterpretedStep(call func(f *Frame)) *Program {
	return Build(&Native{Name: "interpreted", Traits: Interprets, T: TInt, Effect: true,
		HostOnly: interpreterHere,
		Int: func(f *Frame, _ []Arg) int64 {
			call(f)
			return 0
		}})
}

// IsInterpreted reports that the program is, or contains, an interpreted
// function.
func (p *Program) IsInterpreted() bool {
	if p.Node == nil {
		return true
	}
	return HasNative(p.Node, Interprets)
}

// All is the conjunction of predicates, evaluated in order until one is false.
func All(ps []*Program) *Program {
	if len(ps) == 1 {
		return ps[0]
	}
	rest := All(ps[1:])
	first := ps[0].Bool
	second := rest.Bool
	all := func(f *Frame) bool { return first(f) && second(f) && f.Err == nil }
	n := &Native{Name: "all", T: TBool, Effect: true, HostOnly: interpreterHere,
		Int: func(f *Frame, _ []Arg) int64 {
			if all(f) {
				return 1
			}
			return 0
		}}
	p := Build(n)
	p.Bool = all
	return p
}
