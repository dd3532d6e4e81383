package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file evaluates whole expressions. Numbers are in number.go, texts in text.go, statements in
// stmt.go, fields in fields.go.

// An Eval evaluates expressions on the event of a hook, or on the values that Env has.
type Eval struct {
	Code    *assembler.Code
	Hook    *hook.Hook
	Members *hook.Members

	Env   Env
	scope scope
	Fail  assembler.Label // jumped to if an evaluation fails
	// Late is jumped to if a text of the process is not in memory; nil if the event
	// cannot wait for it.
	Late *assembler.Label
	// Long stores texts that are longer than their places.
	Long *LongTexts
}

// New evaluates on the event of a hook.
func New(h *hook.Hook) *Eval {
	return &Eval{Code: h.Code, Hook: h, Members: hook.NewMembers(h),
		Long: &LongTexts{Code: h.Code}}
}

// enter reserves places for n's local variables. leave frees them and restores
// the variables of the outer program.
func (e *Eval) enter(n expr.Node) (leave func()) {
	old, mark := e.scope, e.Code.Stack
	e.scope = scope{n: expr.Locals(n)}
	if e.scope.n > 0 {
		e.scope.locals = e.Code.Alloc(8 * e.scope.n)
		// A path that the verifier cannot rule out may read before it writes.
		e.Code.Zero(e.scope.locals, 8*e.scope.n)
	}
	return func() { e.scope, e.Code.Stack = old, mark }
}

// Value evaluates a whole program into R0.
func (e *Eval) Value(n expr.Node) {
	leave := e.enter(n)
	e.Num(n)
	leave()
}

// WholeText evaluates a whole program that is a text to a place of the stack.
func (e *Eval) WholeText(off int16, size int, n expr.Node) {
	leave := e.enter(n)
	e.Text(off, size, n)
	leave()
}

// Test evaluates a whole program and jumps to l if its truth is want.
func (e *Eval) Test(n expr.Node, want bool, l assembler.Label) {
	leave := e.enter(n)
	e.branch(n, want, l)
	leave()
}

// Run runs the function of a fold; emit generates what happens with each event
// that it emits.
func (e *Eval) Run(n expr.Node, emit func(n *expr.Emit)) {
	leave := e.enter(n)
	e.scope.emit = emit
	e.stmt(n)
	leave()
}

// Keys writes the parts of a key to their places, except call stacks.
func (e *Eval) Keys(key int16, cols []load.Column, nodes []expr.Node) {
	for i, col := range cols {
		at := key + int16(col.Off)
		switch {
		case col.Stack:
		case col.Bytes > 0:
			e.bytes(at, col, nodes[i].(*expr.Field))
		case col.Text:
			e.WholeText(at, col.Size, nodes[i])
		default:
			e.Value(nodes[i])
			e.Code.Store(at, asm.R0)
		}
	}
}

// bytes copies an array of the event to a place, element by element.
func (e *Eval) bytes(at int16, col load.Column, n *expr.Field) {
	e.Code.Zero(at, col.Size)
	for i, element := range ElementsOf(e.Hook.Event.Schema, n) {
		e.Value(expr.NewField(element, expr.Self))
		e.Code.StorePart(at+int16(i*element.Size), asm.R0, hook.Sizes[element.Size])
	}
}

// ElementsOf lists the elements of an array of the event that can be a key; nil
// if x is no such array.
func ElementsOf(s *event.Schema, x *expr.Field) (list []*event.Field) {
	if x.F.Kind != event.Array || x.F.Place != event.InRaw || x.Part != expr.Self || x.F.Size > mostBytes ||
		x.View != expr.ViewValue && x.View != expr.ViewBytes {
		return nil
	}
	for i := 0; ; i++ {
		element, ok := s.Element(x.F, i)
		if !ok {
			return list
		}
		list = append(list, element)
	}
}

// mostBytes bounds the arrays that are keys: an IPv6 address, and the six arguments of a system call.
const mostBytes = 48
