package script

import (
	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file gives the packages that compile functions access to their syntax.

// A Syntax is the resolved tree of one function: identifiers have a
// *resolve.Binding. Lowering begins with it.
type Syntax struct {
	File   *syntax.File
	Pos    syntax.Position
	Params []syntax.Expr
	Body   []syntax.Stmt
	Node   syntax.Node // *syntax.DefStmt or *syntax.LambdaExpr
}

// Syntax returns the tree of fn; nil if the host does not have its file.
func (h *Host) Syntax(fn *starlark.Function) *Syntax {
	pos := fn.Position()
	src := h.texts.source(pos.Filename())
	if src == nil || src.tree == nil {
		return nil
	}
	var found *Syntax
	syntax.Walk(src.tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			if samePlace(n.Def, pos) {
				found = &Syntax{src.tree, pos, n.Params, n.Body, n}
			}
		case *syntax.LambdaExpr:
			if samePlace(n.Lambda, pos) {
				body := []syntax.Stmt{&syntax.ReturnStmt{Return: n.Lambda, Result: n.Body}}
				found = &Syntax{src.tree, pos, n.Params, body, n}
			}
		}
		return found == nil
	})
	return found
}

// ValueOf is the value of a name in fn that is not a local variable; nil if
// unknown.
func (h *Host) ValueOf(fn *starlark.Function, id *syntax.Ident) starlark.Value {
	b, _ := id.Binding.(*resolve.Binding)
	if b == nil {
		return nil
	}
	switch b.Scope {
	case resolve.Free:
		for i := range fn.NumFreeVars() {
			if bind, x := fn.FreeVar(i); bind.Name == id.Name {
				return x
			}
		}
	case resolve.Global:
		return fn.Globals()[id.Name]
	case resolve.Predeclared:
		if v := h.opts.Predeclared[id.Name]; v != nil {
			return v
		}
		return starlark.Universe[id.Name]
	case resolve.Universal:
		return starlark.Universe[id.Name]
	}
	return nil
}

// Unparen returns e without the parentheses around it.
func Unparen(e syntax.Expr) syntax.Expr {
	for {
		x, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = x.X
	}
}

// Freeze freezes a function and its captured values. It returns an error if
// they are nested too deeply.
func (h *Host) Freeze(fn starlark.Callable) error {
	if f, ok := fn.(*starlark.Function); ok {
		for i := range f.NumFreeVars() {
			if b, v := f.FreeVar(i); nested(v, h.opts.Limits.Depth) {
				return h.At(f.Position(), deep(&h.opts.Limits, b.Name))
			}
		}
		for i := range f.NumParams() {
			if v := f.ParamDefault(i); v != nil && nested(v, h.opts.Limits.Depth) {
				return h.At(f.Position(), deep(&h.opts.Limits, "default of a parameter"))
			}
		}
	}
	fn.Freeze()
	return nil
}
