package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/text"
	"ppscript/runtime/expr"
)

// This file is the evaluation of expressions by a program. Numbers are in
// number.go, texts in text.go, statements in stmt.go, fields in fields.go.

// An evaluator evaluates expressions on the event of a hook, or on what env says.
type evaluator struct {
	code    *code
	hook    *hook.Hook
	members *hook.Members

	env   env
	scope scope
	fail  label // where failed evaluations go
	// late is where an event goes one of whose texts is not in memory; nil is nowhere.
	late *label
	// long keeps texts that are longer than their places.
	long *text.Keeper
}

// newEval evaluates on the event of a hook.
func newEval(h *hook.Hook) *evaluator {
	return &evaluator{code: h.Code, hook: h, members: hook.NewMembers(h),
		long: &text.Keeper{Code: h.Code, Program: h.Index}}
}

// enter gives n's locals their places on the stack, and returns a function
// that puts the old ones back.
func (e *evaluator) enter(n expr.Node) (leave func()) {
	old, mark := e.scope, e.code.Stack
	e.scope = scope{n: expr.Locals(n)}
	if e.scope.n > 0 {
		e.scope.locals = e.code.Alloc(8 * e.scope.n)
		// A path that the verifier cannot rule out may read before it writes.
		e.code.Zero(e.scope.locals, 8*e.scope.n)
	}
	return func() { e.scope, e.code.Stack = old, mark }
}

// value evaluates a whole program into R0.
func (e *evaluator) value(n expr.Node) {
	leave := e.enter(n)
	e.num(n)
	leave()
}

// wholeText evaluates a whole program that is a text to a place of the stack.
func (e *evaluator) wholeText(off int16, size int, n expr.Node) {
	leave := e.enter(n)
	e.text(off, size, n)
	leave()
}

// test evaluates a whole program and jumps to l if its truth is want.
func (e *evaluator) test(n expr.Node, want bool, l label) {
	leave := e.enter(n)
	e.branch(n, want, l)
	leave()
}

// run runs the function of a fold; emit brings on each event that it emits.
func (e *evaluator) run(n expr.Node, emit func(n *expr.Emit)) {
	leave := e.enter(n)
	e.scope.emit = emit
	e.stmt(n)
	leave()
}

// keys puts the parts of a key at their places on the stack, but for call stacks.
func (e *evaluator) keys(key int16, cols []load.Column, nodes []expr.Node) {
	for i, col := range cols {
		at := key + int16(col.Off)
		switch {
		case col.Stack:
		case col.Bytes > 0:
			e.bytes(at, col, nodes[i].(*expr.Field))
		case col.Text:
			e.wholeText(at, col.Size, nodes[i])
		default:
			e.value(nodes[i])
			e.code.Store(at, asm.R0)
		}
	}
}

// bytes puts all bytes of an array of the event to a place, element by element.
func (e *evaluator) bytes(at int16, col load.Column, n *expr.Field) {
	e.code.Zero(at, col.Size)
	for i, element := range elementsOf(e.hook.Event.Schema, n) {
		e.value(expr.NewField(element, expr.Self))
		e.code.Emit(asm.StoreMem(asm.R10, at+int16(i*element.Size), asm.R0, hook.Sizes[element.Size]))
	}
}

// finder evaluates look-ups in dictionaries.
func (e *evaluator) finder() *eval.Finder {
	return &eval.Finder{Code: e.code, Num: e.num, Text: e.text, Room: e.env.room, Fail: e.fail}
}
