package direct

import (
	"ppscript/runtime/script"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Hooks are what the caller knows of its values.
type Hooks struct {
	// Attr makes what reads an attribute of the caller's own values; ok is false for
	// other values, and where the interpreter must tell what is wrong.
	Attr func(name string) func(x starlark.Value) (v starlark.Value, ok bool)
	// Word makes what reads an attribute that is a number of these values, AssignWord what
	// assigns one. Both are like Attr and Assign; where they fail these are asked.
	Word       func(name string) func(x starlark.Value) (n int64, u Unit)
	AssignWord func(name string) func(x starlark.Value, n int64, u Unit) (ok bool)
	// Assign makes what assigns a member of a value that can be restored.
	Assign func(name string) func(x, v starlark.Value) (ok bool)
	// Call makes what calls fn with arguments of these names, "" for those
	// without; nil for functions that are called as any other.
	Call func(fn starlark.Value, names []string) func(args []starlark.Value) (ok bool)
	// Pure reports a function, or a value whose methods all are, without effects.
	Pure func(x starlark.Value) bool
}

// A Function runs a script's function. It belongs to one goroutine.
type Function struct {
	code  *code
	frame frame
}

// maxTurns bounds the turns of loops in a call; a longer one is left to the
// interpreter, which counts steps.
const maxTurns = 5000

// A frame is a call's variables and its callees', and how far the call may go on.
type frame struct {
	thread *starlark.Thread
	stack  []starlark.Value
	base   int // of the function that runs
	turns  int
	result starlark.Value // of the statement return
}

// An eval computes a value; nil is a failure. A test computes a truth. An exec
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
	defaults       []starlark.Value // by parameter; nil for those without
	body           exec
}

// maxDepth bounds calls in calls, maxLocals the variables of all of them.
const (
	maxDepth  = 8
	maxLocals = 100
)

// Compile returns fn to be run directly; nil if it has a construct that only the
// interpreter knows.
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

// Call calls the function; ok is false if the interpreter must.
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

// A compiler makes codes of functions that call each other.
type compiler struct {
	host    *script.Host
	hooks   Hooks
	refused bool
	fn      *starlark.Function // whose names are looked up
	locals  int
	depth   int
	open    []*starlark.Function
}

// refuse leaves the function to the interpreter.
func (c *compiler) refuse() eval {
	c.refused = true
	return nil
}

// function compiles fn and what it calls; nil if it cannot be.
func (c *compiler) function(fn *starlark.Function) *code {
	tree := c.host.Syntax(fn)
	if tree == nil || fn.HasVarargs() || fn.HasKwargs() || fn.NumKwonlyParams() > 0 || c.depth > maxDepth {
		c.refused = true
		return nil
	}
	for _, f := range c.open {
		if f == fn { // the interpreter says that it is recursive
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

// slot is the place of a variable; ok is false for names that are none.
func slot(id *syntax.Ident) (i int, ok bool) {
	b, _ := id.Binding.(*resolve.Binding)
	if b == nil || b.Scope != resolve.Local {
		return 0, false
	}
	return b.Index, true
}

// isCell reports a variable that nested functions share.
func isCell(id *syntax.Ident) bool {
	b, _ := id.Binding.(*resolve.Binding)
	return b != nil && b.Scope == resolve.Cell
}
