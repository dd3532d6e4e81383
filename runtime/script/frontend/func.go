package frontend

import (
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/script"
	"ppscript/runtime/script/eventview"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// A Func is a script's function that is prepared to run once per event: the
// thread, the argument tuple and the views are made once. It belongs to one
// goroutine.
type Func struct {
	fn    starlark.Callable
	exec  starlark.Callable // fn, or its copy with checked arithmetic; made at the first call
	short shortcut
	t     *script.Thread
	args  starlark.Tuple
	views [viewTurns]*eventview.View
	turn  uint8

	// Results of checks; see Reads.
	seen, escaped bool
	names         map[string]bool
	memory        string // of the kernel, what is read; "" is nothing

	failures int
	last     error // the error to return for further failures
}

// explained bounds the failures of one Func that are reported with position and
// excerpt. A function that fails for every event would otherwise spend its time
// on messages.
const explained = 100

// viewTurns is the number of events after which a view is reused. A script that
// keeps an event and uses it before that gets an error.
const viewTurns = 8

// NewFunc freezes fn and its captured values, and prepares it. fn must accept
// one argument.
func NewFunc(h *script.Host, fn starlark.Callable) (*Func, error) {
	if f, ok := fn.(*starlark.Function); ok && !acceptsOne(f) {
		return nil, h.At(f.Position(), &diag.Error{
			Cause: fmt.Errorf("function %s takes %d arguments, want 1: the event", f.Name(), required1(f)),
			Hint:  "write it as lambda e: ..."})
	}
	if err := h.Freeze(fn); err != nil {
		return nil, err
	}
	return prepare(h, fn), nil
}

// prepare makes the values that the calls of fn reuse.
func prepare(h *script.Host, fn starlark.Callable) *Func {
	f := &Func{fn: fn, t: h.EventThread(fn.Name()), args: make(starlark.Tuple, 1)}
	f.views[0] = eventview.New()
	for i := range f.views[1:] {
		f.views[i+1] = f.views[0].Another()
	}
	return f
}

func acceptsOne(f *starlark.Function) bool {
	need := required1(f)
	positional := f.NumParams() - f.NumKwonlyParams()
	if f.HasKwargs() {
		positional--
	}
	return need <= 1 && positional >= 1
}

// required1 counts the parameters without a default.
func required1(f *starlark.Function) int {
	n, params := 0, f.NumParams()
	if f.HasVarargs() {
		params--
	}
	if f.HasKwargs() {
		params--
	}
	for i := range params {
		if f.ParamDefault(i) == nil {
			n++
		}
	}
	return n
}

// Name is the function's name; "lambda" for lambdas.
func (f *Func) Name() string { return f.fn.Name() }

// Pos is the position of the function, file:line:col; "" for builtins.
func (f *Func) Pos() string {
	if fn, ok := f.fn.(*starlark.Function); ok {
		return fn.Position().String()
	}
	return ""
}

// Callable returns the function itself, usually a *starlark.Function.
func (f *Func) Callable() starlark.Callable { return f.fn }

// Call runs the function on e, which is passed as a View that is invalid after
// the call. The error is a *diag.Error.
//
// Fast path: nothing allocates unless the function makes a new text, list or
// large number. In the interpreter, Starlark's own frame is one allocation.
func (f *Func) Call(e *event.Event) (event.Value, error) {
	v, err := f.CallValue(e)
	if err != nil {
		return event.Value{}, err
	}
	switch v := v.(type) {
	case starlark.Bool:
		return event.BoolOf(bool(v)), nil
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return event.IntOf(n), nil
		}
	}
	r, err := value.FromStarlark(v)
	if err != nil {
		return event.Value{}, f.blame(err)
	}
	return r, nil
}

// Test is Call for predicates: it returns the truth of the result.
func (f *Func) Test(e *event.Event) (bool, error) {
	v, err := f.CallValue(e)
	if err != nil {
		return false, err
	}
	return bool(v.Truth()), nil
}

// CallValue is Call without the conversion of the result. If the result is a
// View of e, it is already invalid.
func (f *Func) CallValue(e *event.Event) (starlark.Value, error) {
	view := f.views[f.turn%viewTurns]
	f.turn++
	view.Show(e)
	f.args[0] = view
	return f.invoke(f.args, view, nothing)
}

// nothing is the undo function of functions without effects.
func nothing() {}

// invoke calls the function directly or, if that is abandoned, calls undo and then
// the interpreter. view is the View among args.
func (f *Func) invoke(args starlark.Tuple, view *eventview.View, undo func()) (v starlark.Value, err error) {
	t := f.t
	t.Thread.Steps = 0
	defer func() {
		view.Show(nil)
		if p := recover(); p != nil {
			v, err = nil, t.Host().Bug(p)
		}
	}()
	if v, ok := f.short.take(f, args); ok {
		return v, nil
	}
	undo()
	if f.exec == nil {
		f.exec = t.Host().CheckedFn(f.fn)
	}
	v, err = starlark.Call(t.Thread, f.exec, args, nil)
	if err != nil {
		f.failures++
		if f.failures > explained && !t.Halted() {
			return nil, f.last
		}
		f.last = t.Explain(err)
		t.Restart()
		return nil, f.last
	}
	f.short.missed()
	return v, nil
}

// blame adds the function's position to an error in its result.
func (f *Func) blame(err error) error {
	d := &diag.Error{Op: "function", Subject: f.Name(), Cause: err,
		Hint: "return a number, a text, a duration, or a tuple of these"}
	if fn, ok := f.fn.(*starlark.Function); ok {
		return f.t.Host().At(fn.Position(), d)
	}
	return d
}
