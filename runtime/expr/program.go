package expr

import "ppscript/runtime/event"

// A Program is a node compiled to closures, built once per plan and run per
// event by any number of goroutines, each with its own Frame.
//
// Int and Bool are nil unless Type is numeric; Bool is also set for texts (it
// is not empty) and floats. Float is set for everything numeric and floats.
// Str is nil unless Type is Str. Value is always set and may allocate.
type Program struct {
	Type  Type
	Node  Node
	Int   func(*Frame) int64
	Bool  func(*Frame) bool
	Str   func(*Frame) []byte
	Float func(*Frame) float64
	Value func(*Frame) event.Value
	// Run evaluates for the effect: fold steps, exec=.
	Run func(*Frame)
	// Uses is what the evaluation looks at; empty if that is not known: Node is nil.
	Uses Uses
	// Number is the kind of the numbers, as Values have it; None if there are none, or if it is known
	// only when one comes.
	Number event.ValueKind
	// Elems are the members of a Tuple.
	Elems []*Program
}

// Build compiles an IR node.
func Build(n Node) *Program {
	p := &Program{Type: n.Type(), Node: n, Uses: UsesOf(n), Number: NumbersOf(n).ValueKind()}
	slots := Locals(n)
	switch p.Type.Kind {
	case Int, Bool:
		p.Int, p.Bool, p.Float = genInt(n), genBool(n), genFloat(n)
	case Str:
		p.Str, p.Bool = genStr(n), genBool(n)
	case Float:
		p.Float, p.Bool = genFloat(n), genBool(n)
	case Tuple:
		for _, e := range n.(*TupleOf).Elems {
			p.Elems = append(p.Elems, Build(e))
		}
	}
	p.Value = genValue(n)
	run := genStmt(n)
	p.Run = func(f *Frame) { run(f) }
	if slots > 0 {
		p.withLocals(slots)
	}
	return p
}

// withLocals makes every entry point provide the local variables, which then
// need no check where they are used.
func (p *Program) withLocals(n int) {
	if fn := p.Int; fn != nil {
		p.Int = func(f *Frame) int64 { f.grow(n); return fn(f) }
	}
	if fn := p.Bool; fn != nil {
		p.Bool = func(f *Frame) bool { f.grow(n); return fn(f) }
	}
	if fn := p.Str; fn != nil {
		p.Str = func(f *Frame) []byte { f.grow(n); return fn(f) }
	}
	if fn := p.Float; fn != nil {
		p.Float = func(f *Frame) float64 { f.grow(n); return fn(f) }
	}
	value, run := p.Value, p.Run
	p.Value = func(f *Frame) event.Value { f.grow(n); return value(f) }
	p.Run = func(f *Frame) { f.grow(n); run(f) }
}

// AsNumber is a number that the program yields. Another value fails the frame, as does NaN.
func (p *Program) AsNumber(f *Frame) event.Number {
	var n event.Number
	switch p.Type.Kind {
	case Int, Bool:
		return event.NumberOf(p.Number, p.Int(f))
	case Float:
		n = event.FloatNumber(p.Float(f))
	default:
		var number bool
		if n, number = p.Value(f).Number(); !number {
			f.Fail(ErrKind)
			return n
		}
	}
	if n.NaN() {
		f.Fail(ErrNaN)
	}
	return n
}

// Field returns the field if the program is nothing but that field of the
// event itself, so that the caller can read it in a way of its own.
func (p *Program) Field() (*event.Field, bool) {
	if n, ok := p.Node.(*Field); ok && n.View == ViewValue && n.Part == Self {
		return n.F, true
	}
	return nil, false
}
