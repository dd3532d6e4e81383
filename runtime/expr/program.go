package expr

import "ppscript/runtime/event"

// A Program is a node compiled to closures, built once per plan and run per
// event by any number of goroutines, each with its own Frame.
//
// Int is set if Type is numeric. Bool is set if Type is numeric, a float, or a
// text, which is true if it is not empty. Float is set if Type is numeric or a
// float. Str is set if Type is Str. Otherwise they are nil. Value is always set
// and may allocate.
type Program struct {
	Type  Type
	Node  Node
	Int   func(*Frame) int64
	Bool  func(*Frame) bool
	Str   func(*Frame) []byte
	Float func(*Frame) float64
	Value func(*Frame) event.Value
	// Run evaluates for the effect: for fold steps and exec=.
	Run func(*Frame)
	// Uses lists the inputs of the evaluation; it is empty if Node is nil, since
	// they are then unknown.
	Uses Uses
	// Number is the ValueKind of the results; None if they are not numbers, or if the kind is found
	// out only at run time.
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

// withLocals makes every entry point allocate the local variables, so that
// their uses need no check.
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

// AsNumber evaluates the program to a number. Any other value, and NaN, set Frame.Err.
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

// Field returns the field if the program only reads a field of the event
// itself, so that the caller can read it directly.
func (p *Program) Field() (*event.Field, bool) {
	if n, ok := p.Node.(*Field); ok && n.View == ViewValue && n.Part == Self {
		return n.F, true
	}
	return nil, false
}
