package frontend

import (
	"slices"

	"ppscript/runtime/script"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file finds out what a function reads of its event, so that the kernel
// is asked for nothing else. An event that escapes - into a list, a builtin,
// a call that cannot be followed - may be read anywhere: then the list is not
// exact.

// Reads lists the attributes that the function reads of its event and of the
// parts of pairs, sorted. exact is false if the event escapes its sight.
func (f *Func) Reads() (names []string, exact bool) { return f.reads(0) }

func (f *Func) reads(param int) (names []string, exact bool) {
	fn, ok := f.fn.(*starlark.Function)
	if !ok {
		return nil, false
	}
	r := &reads{host: f.t.Host(), exact: true, names: map[string]bool{}, seen: map[checked]bool{}}
	r.function(fn, param)
	for n := range r.names {
		names = append(names, n)
	}
	slices.Sort(names)
	return names, r.exact
}

type reads struct {
	host  *script.Host
	names map[string]bool
	exact bool
	seen  map[checked]bool
}

func (r *reads) function(fn *starlark.Function, param int) {
	key := checked{fn.Position(), param}
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	tree := r.host.Syntax(fn)
	if tree == nil || param >= len(tree.Params) || paramIdent(tree.Params[param]) == nil {
		r.exact = false
		return
	}
	id := paramIdent(tree.Params[param])
	assigned := assignments(tree.Node)
	u := &uses{r: r, w: &walker{fn: fn}, events: map[*syntax.Ident]bool{id: true}, done: map[syntax.Expr]bool{}}
	for _, p := range tree.Params {
		u.done[paramIdent(p)] = true
	}
	if assigned[id] > 0 {
		r.exact = false
	}
	u.aliases(tree.Node, assigned)
	syntax.Walk(tree.Node, u.consume)
	syntax.Walk(tree.Node, u.escapes)
}

// uses sorts the places where events appear in one function.
type uses struct {
	r      *reads
	w      *walker
	events map[*syntax.Ident]bool // variables that are events
	done   map[syntax.Expr]bool   // places that are accounted for
}

func (u *uses) isEvent(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Ident:
		v := firstOf(e)
		return v != nil && u.events[v]
	case *syntax.ParenExpr:
		return u.isEvent(e.X)
	case *syntax.DotExpr:
		return (e.Name.Name == "start" || e.Name.Name == "end") && u.isEvent(e.X)
	}
	return false
}

// accept says that what happens to the event in e is known.
func (u *uses) accept(e syntax.Expr) {
	u.done[e] = true
	if p, ok := e.(*syntax.ParenExpr); ok {
		u.accept(p.X)
	}
}

func (u *uses) aliases(n syntax.Node, assigned map[*syntax.Ident]int) {
	syntax.Walk(n, func(n syntax.Node) bool {
		as, ok := n.(*syntax.AssignStmt)
		if !ok || as.Op != syntax.EQ || !u.isEvent(as.RHS) {
			return true
		}
		if lhs, ok := as.LHS.(*syntax.Ident); ok {
			if v := firstOf(lhs); v != nil && assigned[v] == 1 {
				u.events[v] = true
				u.accept(lhs)
				u.accept(as.RHS)
			}
		}
		return true
	})
}

// consume accounts for e.name, e.symbolic("name") and f(e).
func (u *uses) consume(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.DotExpr:
		if !u.isEvent(n.X) {
			return true
		}
		u.accept(n.X)
		switch n.Name.Name {
		case "text", "_text":
			u.r.exact = false // prints whatever there is
		case "symbolic", "_symbolic": // its argument counts
		default:
			u.r.names[n.Name.Name] = true
		}
	case *syntax.CallExpr:
		if dot, ok := n.Fn.(*syntax.DotExpr); ok && dot.Name.Name == "symbolic" && u.isEvent(dot.X) {
			name, ok := literalArg(n.Args)
			if ok {
				u.r.names[name] = true
			} else {
				u.r.exact = false
			}
			return true
		}
		id, ok := n.Fn.(*syntax.Ident)
		if !ok {
			return true
		}
		if callee := u.w.lookup(id); callee != nil && plainArgs(n.Args) {
			for i, a := range n.Args {
				if u.isEvent(a) {
					u.accept(a)
					u.r.function(callee, i)
				}
			}
		}
	}
	return true
}

// literalArg is the only argument, if it is a text in quotes.
func literalArg(args []syntax.Expr) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	lit, ok := args[0].(*syntax.Literal)
	if !ok {
		return "", false
	}
	name, ok := lit.Value.(string)
	return name, ok
}

func plainArgs(args []syntax.Expr) bool {
	for _, a := range args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				return false
			}
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				return false
			}
		}
	}
	return true
}

// escapes finds events in places that are not accounted for.
func (u *uses) escapes(n syntax.Node) bool {
	if e, ok := n.(syntax.Expr); ok && u.isEvent(e) && !u.done[e] {
		u.r.exact = false
	}
	return true
}
