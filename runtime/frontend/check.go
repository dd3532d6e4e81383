package frontend

import (
	"slices"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/script"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file finds misspelt fields in per-event functions before anything is
// opened: it walks the function's tree and looks up each e.field in the
// schemas of the stream. It follows e through single assignments (a = p.start)
// and calls of the script's own functions (exit_reason(p.start)). What it
// cannot follow is left to run time; it never reports what could be right.

// A Shape is what is known about the events that a function will get: one of
// Schemas; for pairs, Start and End are those of the parts. No schema: unknown.
type Shape struct {
	Schemas    []*event.Schema
	Start, End []*event.Schema
	// Extra are names that events have beside their schema's: those of let.
	Extra []string
	// StartExtra and EndExtra are those of the parts of a pair.
	StartExtra, EndExtra []string
}

func (s *Shape) pair() bool { return len(s.Start) > 0 || len(s.End) > 0 }

// has reports that some event of the shape has the attribute.
func (s *Shape) has(name string) bool {
	if len(s.Schemas) == 0 || slices.Contains(s.Extra, name) {
		return true
	}
	for _, sc := range s.Schemas {
		if a := accessOf(sc, name); a != nil {
			switch a.how {
			case howStart, howEnd, howDelay:
				if !s.pair() {
					continue
				}
			}
			return true
		}
	}
	return false
}

func (s *Shape) names() []string {
	names := append([]string{"name", "system", "symbolic", "text"}, s.Extra...)
	if s.pair() {
		names = append(names, pairNames...)
	}
	for _, sc := range s.Schemas {
		for _, n := range sc.Names() {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

func (s *Shape) subject() string {
	var names []string
	for _, sc := range s.Schemas {
		if n := sc.FullName(); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return strings.Join(names, " or ")
}

// CheckFields checks what fn reads from its first parameter. The error is a
// *diag.Error for the first unknown field; the others follow in its excerpt.
func CheckFields(h *script.Host, fn starlark.Callable, shape Shape) error {
	return checkFields(h, fn, 0, shape)
}

func checkFields(h *script.Host, fn starlark.Callable, param int, shape Shape) error {
	f, ok := fn.(*starlark.Function)
	if !ok {
		return nil
	}
	c := &fieldCheck{host: h, seen: map[checked]bool{}}
	c.function(f, param, &shape)
	if len(c.errs) == 0 {
		return nil
	}
	first := c.errs[0]
	for _, e := range c.errs[1:] {
		first.Excerpt += "\n" + e.Error() + "\n" + e.Excerpt
	}
	return first
}

type checked struct {
	pos   syntax.Position
	param int
}

type fieldCheck struct {
	host *script.Host
	seen map[checked]bool
	errs []*diag.Error
}

// function checks what fn reads from parameter number param.
func (c *fieldCheck) function(fn *starlark.Function, param int, shape *Shape) {
	key := checked{fn.Position(), param}
	tree := c.host.Syntax(fn)
	if tree == nil || c.seen[key] || param >= len(tree.Params) {
		return
	}
	c.seen[key] = true
	id := paramIdent(tree.Params[param])
	if id == nil {
		return
	}
	w := &walker{check: c, fn: fn, vars: map[*syntax.Ident]*Shape{id: shape}}
	assigned := assignments(tree.Node)
	if assigned[id] > 0 {
		return // reassigned: not the event any more
	}
	// Aliases may be used before the walk has seen them only in loops, so one
	// pass for them and one for the rest is enough.
	syntax.Walk(tree.Node, func(n syntax.Node) bool {
		if as, ok := n.(*syntax.AssignStmt); ok && as.Op == syntax.EQ {
			if lhs, ok := as.LHS.(*syntax.Ident); ok {
				if v := firstOf(lhs); v != nil && assigned[v] == 1 {
					if s := w.shape(as.RHS); s != nil {
						w.vars[v] = s
					}
				}
			}
		}
		return true
	})
	syntax.Walk(tree.Node, w.visit)
}

func paramIdent(p syntax.Expr) *syntax.Ident {
	switch p := p.(type) {
	case *syntax.Ident:
		return p
	case *syntax.BinaryExpr: // name = default
		id, _ := p.X.(*syntax.Ident)
		return id
	}
	return nil
}

// firstOf identifies the variable that id denotes, also from inside nested
// functions; nil for names that are not variables.
func firstOf(id *syntax.Ident) *syntax.Ident {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok || b == nil {
		return nil
	}
	switch b.Scope {
	case resolve.Local, resolve.Cell, resolve.Free:
		return b.First
	}
	return nil
}

// assignments counts how often each variable is bound by a statement.
func assignments(n syntax.Node) map[*syntax.Ident]int {
	count := map[*syntax.Ident]int{}
	var bind func(e syntax.Expr)
	bind = func(e syntax.Expr) {
		switch e := e.(type) {
		case *syntax.Ident:
			if v := firstOf(e); v != nil {
				count[v]++
			}
		case *syntax.ParenExpr:
			bind(e.X)
		case *syntax.TupleExpr:
			for _, x := range e.List {
				bind(x)
			}
		case *syntax.ListExpr:
			for _, x := range e.List {
				bind(x)
			}
		}
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			bind(n.LHS)
		case *syntax.ForStmt:
			bind(n.Vars)
		case *syntax.ForClause:
			bind(n.Vars)
		case *syntax.DefStmt:
			bind(n.Name)
		}
		return true
	})
	return count
}

type walker struct {
	check *fieldCheck
	fn    *starlark.Function
	vars  map[*syntax.Ident]*Shape
}

// shape is what is known of the event that e denotes; nil if e is not known
// to be one.
func (w *walker) shape(e syntax.Expr) *Shape {
	switch e := e.(type) {
	case *syntax.Ident:
		if v := firstOf(e); v != nil {
			return w.vars[v]
		}
	case *syntax.ParenExpr:
		return w.shape(e.X)
	case *syntax.DotExpr:
		s := w.shape(e.X)
		switch {
		case s == nil || !s.pair():
		case e.Name.Name == "start":
			return &Shape{Schemas: s.Start, Extra: s.StartExtra}
		case e.Name.Name == "end":
			return &Shape{Schemas: s.End, Extra: s.EndExtra}
		}
	}
	return nil
}

func (w *walker) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.DotExpr:
		if s := w.shape(n.X); s != nil && !s.has(n.Name.Name) {
			w.unknown(s, n.Name.Name, script.NodeSpan(n.Name))
		}
	case *syntax.CallExpr:
		w.call(n)
	}
	return true
}

func (w *walker) unknown(s *Shape, name string, at script.Span) {
	if len(w.check.errs) >= 10 {
		return
	}
	d := diag.Errorf(diag.Run, "event", s.subject(), "no field %s%s", name, diag.DidYouMean(name, s.names()))
	d.Hint = fieldsHint(s.Schemas[0])
	w.check.errs = append(w.check.errs, w.check.host.AtSpan(at, d))
}

// call checks e.symbolic("field"), and follows calls of script functions.
func (w *walker) call(n *syntax.CallExpr) {
	if dot, ok := n.Fn.(*syntax.DotExpr); ok && dot.Name.Name == "symbolic" && len(n.Args) == 1 {
		s := w.shape(dot.X)
		lit, isLit := n.Args[0].(*syntax.Literal)
		if s == nil || !isLit || lit.Token != syntax.STRING || len(s.Schemas) == 0 {
			return
		}
		name, _ := lit.Value.(string)
		for _, sc := range s.Schemas {
			if _, ok := sc.Field(name); ok {
				return
			}
		}
		w.unknown(s, name, script.NodeSpan(lit))
		return
	}
	id, ok := n.Fn.(*syntax.Ident)
	if !ok {
		return
	}
	callee := w.lookup(id)
	if callee == nil {
		return
	}
	for i, a := range n.Args {
		if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			return // named arguments are not followed
		}
		if u, ok := a.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
			return
		}
		if s := w.shape(a); s != nil {
			w.check.function(callee, i, s)
		}
	}
}

// lookup finds the script function that a name in fn denotes.
func (w *walker) lookup(id *syntax.Ident) *starlark.Function {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok || b == nil {
		return nil
	}
	switch b.Scope {
	case resolve.Global:
		f, _ := w.fn.Globals()[id.Name].(*starlark.Function)
		return f
	case resolve.Free:
		for i := range w.fn.NumFreeVars() {
			if bind, v := w.fn.FreeVar(i); bind.Name == id.Name {
				f, _ := v.(*starlark.Function)
				return f
			}
		}
	}
	return nil
}
