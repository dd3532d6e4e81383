package direct

import (
	"ppscript/runtime/script"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Hooks are the caller's functions for its own kinds of values, such as events.
type Hooks struct {
	// Attr returns the function that reads an attribute of the caller's values; ok
	// is false for other values, and for errors, which the interpreter must report.
	Attr func(name string) func(x starlark.Value) (v starlark.Value, ok bool)
	// Word returns the function that reads a numeric attribute as a number, AssignWord the
	// function that assigns one. If one of them fails, Attr or Assign is used.
	Word       func(name string) func(x starlark.Value) (n int64, u Unit)
	AssignWord func(name string) func(x starlark.Value, n int64, u Unit) (ok bool)
	// Assign returns the function that assigns a member of a value whose state
	// the caller can restore.
	Assign func(name string) func(x, v starlark.Value) (ok bool)
	// Call returns the function that calls fn with arguments of these names, ""
	// for positional ones; nil if fn is called like other functions.
	Call func(fn starlark.Value, names []string) func(args []starlark.Value) (ok bool)
	// Pure reports that a function, or all methods of a value, have no effects.
	Pure func(x starlark.Value) bool
}

// A Function is a compiled function of a script. It belongs to one goroutine.
type Function struct {
	code  *code
	frame frame
}

// maxTurns bounds the iterations of loops in a call; a longer call is left to
// the interpreter, which counts steps.
const maxTurns = 5000

// A frame has the variables of a call and the calls within it, and the number of
// iterations left.
type frame struct {
	thread *starlark.Thread
	stack  []starlark.Value
	base   int // index of the running function's first variable
	turns  int
	result starlark.Value // value of the statement return
}

// An eval computes a value; nil means failure. A test computes a truth. An exec
// runs a statement.
type (
	eval func(*frame) starlark.Value
	test func(*frame) truth
	exec func(*frame) outcome
)

type truth int8

const (
	no truth = iota
	yes
	unknown // a failure
)

type outcome int8

const (
	next outcome = iota
	failed
	returned
	broken
	continued
)

// code is a compiled function of the script.
type code struct {
	params, locals int
	defaults       []starlark.Value // by parameter; nil for required ones
	body           exec
}

// maxDepth bounds the nesting of calls, maxLocals the variables of a function.
const (
	maxDepth  = 8
	maxLocals = 100
)

// Compile compiles fn; nil if it has a construct that only the interpreter
// supports.
func Compile(h *script.Host, t *starlark.Thread, fn starlark.Callable, hooks Hooks) *Function {
	f, ok := fn.(*starlark.Function)
	if !ok {
		return nil
	}
	c := &compiler{host: h, hooks: hooks}
	made := c.function(f)
	if made == nil || c.refused {
		return nil
	}
	return &Function{code: made, frame: frame{
		thread: t, stack: make([]starlark.Value, (maxDepth+1)*maxLocals),
	}}
}

// Call calls the function; ok is false if the interpreter must make the call
// instead.
func (f *Function) Call(args []starlark.Value) (v starlark.Value, ok bool) {
	fr := &f.frame
	fr.turns, fr.base = maxTurns, 0
	v = f.code.call(fr, args)
	return v, v != nil
}

// call runs the function at fr.base.
func (c *code) call(fr *frame, args []starlark.Value) starlark.Value {
	vars := fr.stack[fr.base : fr.base+c.locals]
	n := copy(vars[:c.params], args)
	for ; n < c.params; n++ {
		vars[n] = c.defaults[n]
	}
	clear(vars[c.params:])
	switch c.body(fr) {
	case returned:
		return fr.result
	case next:
		return starlark.None
	}
	return nil
}

// A compiler compiles a function with all functions that it calls.
type compiler struct {
	host    *script.Host
	hooks   Hooks
	refused bool
	fn      *starlark.Function // the function being compiled
	locals  int
	depth   int
	open    []*starlark.Function
}

// refuse records that the function must be left to the interpreter.
func (c *compiler) refuse() eval {
	c.refused = true
	return nil
}

// function compiles fn and the functions that it calls; nil if that is not
// possible.
func (c *compiler) function(fn *starlark.Function) *code {
	tree := c.host.Syntax(fn)
	if tree == nil || fn.HasVarargs() || fn.HasKwargs() || fn.NumKwonlyParams() > 0 || c.depth > maxDepth {
		c.refused = true
		return nil
	}
	for _, f := range c.open {
		if f == fn { // recursive: the interpreter reports the error
			c.refused = true
			return nil
		}
	}
	var scope *resolve.Function
	switch n := tree.Node.(type) {
	case *syntax.DefStmt:
		scope, _ = n.Function.(*resolve.Function)
	case *syntax.LambdaExpr:
		scope, _ = n.Function.(*resolve.Function)
	}
	if scope == nil || len(scope.Locals) > maxLocals {
		c.refused = true
		return nil
	}
	outer, locals := c.fn, c.locals
	c.fn, c.locals = fn, len(scope.Locals)
	c.open, c.depth = append(c.open, fn), c.depth+1
	made := &code{params: fn.NumParams(), locals: len(scope.Locals)}
	for i := range made.params {
		made.defaults = append(made.defaults, fn.ParamDefault(i))
	}
	made.body = c.block(tree.Body)
	c.open, c.depth = c.open[:len(c.open)-1], c.depth-1
	c.fn, c.locals = outer, locals
	return made
}

// slot is the index of a local variable; ok is false for other names.
func slot(id *syntax.Ident) (i int, ok bool) {
	b, _ := id.Binding.(*resolve.Binding)
	if b == nil || b.Scope != resolve.Local {
		return 0, false
	}
	return b.Index, true
}

// isCell reports that nested functions share a variable.
func isCell(id *syntax.Ident) bool {
	b, _ := id.Binding.(*resolve.Binding)
	return b != nil && b.Scope == resolve.Cell
}
