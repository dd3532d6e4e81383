package langserver

import (
	"regexp"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// identifier matches a valid name.
var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z_0-9]*$`)

// rename renames the variable, function or parameter at a place, wherever the document uses it. A
// loaded name is refused: it is declared in another file.
func (s *server) rename(d *source, p *documentParams) (any, error) {
	if !identifier.MatchString(p.NewName) {
		return nil, invalid(p.NewName + " is no name")
	}
	tree := parsed(d.path, d.text.content)
	if tree == nil {
		return nil, invalid("the text has a mistake that hides what names mean; mend it first")
	}
	known := d.reg.Predeclared().Has
	// The error is ignored: unknown names stay unresolved, and all others are resolved.
	_ = resolve.File(tree, known, starlark.Universe.Has)
	at := d.text.position(d.text.offset(p.Position))
	var meant *syntax.Ident
	uses := map[*syntax.Ident][]*syntax.Ident{} // by the identifier that binds them first
	loads := map[*syntax.Ident]bool{}
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LoadStmt:
			for _, to := range n.To {
				loads[to] = true
			}
		case *syntax.Ident:
			b, ok := n.Binding.(*resolve.Binding)
			if !ok || b.First == nil {
				return true
			}
			uses[b.First] = append(uses[b.First], n)
			begin := d.text.at(int(n.NamePos.Line), int(n.NamePos.Col))
			if begin.Line == at.Line && begin.Character <= at.Character &&
				at.Character <= begin.Character+len(n.Name) {
				meant = b.First
			}
		}
		return true
	})
	switch {
	case meant == nil:
		return nil, invalid("no name of this document is here")
	case loads[meant]:
		return nil, invalid(meant.Name + " comes from another file: rename it there")
	case known(p.NewName):
		return nil, invalid(p.NewName + " is a word of the language")
	}
	var edits []textEdit
	for _, id := range append(uses[meant], keywords(tree, meant)...) {
		begin := d.text.at(int(id.NamePos.Line), int(id.NamePos.Col))
		end := begin
		end.Character += units(id.Name)
		edits = append(edits, textEdit{Range: span{begin, end}, NewText: p.NewName})
	}
	return workspaceEdit{Changes: map[string][]textEdit{d.uri: edits}}, nil
}

// keywords returns the identifiers by which calls pass param as a keyword
// argument.
func keywords(tree *syntax.File, param *syntax.Ident) (list []*syntax.Ident) {
	var of *syntax.Ident // the function that has the parameter
	syntax.Walk(tree, func(n syntax.Node) bool {
		if def, ok := n.(*syntax.DefStmt); ok {
			for _, p := range def.Params {
				if b, ok := p.(*syntax.BinaryExpr); ok {
					p = b.X
				}
				if p == param {
					of = def.Name
				}
			}
		}
		return true
	})
	if of == nil {
		return nil
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		fn, ok := call.Fn.(*syntax.Ident)
		if b, bound := bindingOf(fn); !ok || !bound || b.First != of {
			return true
		}
		for _, arg := range call.Args {
			if b, ok := arg.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
				if id, ok := b.X.(*syntax.Ident); ok && id.Name == param.Name {
					list = append(list, id)
				}
			}
		}
		return true
	})
	return list
}

func bindingOf(id *syntax.Ident) (*resolve.Binding, bool) {
	if id == nil {
		return nil, false
	}
	b, ok := id.Binding.(*resolve.Binding)
	return b, ok
}
