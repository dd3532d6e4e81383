package langserver

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.starlark.net/syntax"

	"ppscript/runtime/script"
	"ppscript/stdlib"
)

// definition finds where the name at a place is bound: in the enclosing
// function, in the document, or in a file that the document loads.
func (s *server) definition(d *source, p *documentParams) (any, error) {
	at := p.Position
	offset := d.text.offset(at)
	path, _, _ := d.text.word(offset)
	name, _, _ := strings.Cut(path, ".")
	tree := parsed(d.path, d.text.content)
	if tree == nil {
		return nil, nil
	}
	if load, module := loadAt(tree, at.Line+1); load != nil {
		file, content := s.loadedFile(d, module)
		if file == "" {
			return nil, nil
		}
		return locate(file, newText(content), boundIn(parsed(file, content), name)), nil
	}
	if pos := localOf(tree, name, at.Line+1); pos.IsValid() {
		return locate(d.path, d.text, pos), nil
	}
	for _, stmt := range tree.Stmts {
		load, ok := stmt.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		for i, to := range load.To {
			if to.Name != name {
				continue
			}
			file, content := s.loadedFile(d, load.ModuleName())
			if file == "" {
				return locate(d.path, d.text, to.NamePos), nil
			}
			return locate(file, newText(content), boundIn(parsed(file, content), load.From[i].Name)), nil
		}
	}
	if pos := boundIn(tree, name); pos.IsValid() {
		return locate(d.path, d.text, pos), nil
	}
	return nil, nil
}

func parsed(name, content string) *syntax.File {
	tree, err := script.Parse(name, content)
	if err != nil {
		return nil
	}
	return tree
}

// locate returns the location of the word at pos in a file, or the beginning of
// the file if pos is not valid.
func locate(file string, t *text, pos syntax.Position) location {
	at := t.at(max(int(pos.Line), 1), max(int(pos.Col), 1))
	_, _, end := t.word(t.offset(at))
	return location{URI: uriOf(file), Range: span{Start: at, End: t.position(end)}}
}

// loadAt returns the load statement around a line (from 1) and the module that
// it names; nil without one.
func loadAt(tree *syntax.File, line int) (load *syntax.LoadStmt, module string) {
	for _, stmt := range tree.Stmts {
		if l, ok := stmt.(*syntax.LoadStmt); ok && int(l.Load.Line) <= line && line <= int(l.Rparen.Line) {
			return l, l.ModuleName()
		}
	}
	return nil, ""
}

// boundIn returns the position where a file binds a name at top level; it is
// not valid if the file does not.
func boundIn(tree *syntax.File, name string) (pos syntax.Position) {
	if tree == nil {
		return pos
	}
	for _, stmt := range tree.Stmts {
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			if stmt.Name.Name == name {
				return stmt.Name.NamePos
			}
		case *syntax.AssignStmt:
			if at := target(stmt.LHS, name); at.IsValid() && !pos.IsValid() {
				pos = at
			}
		}
	}
	return pos
}

// target returns the position of name on the left-hand side of an assignment.
func target(lhs syntax.Expr, name string) (pos syntax.Position) {
	syntax.Walk(lhs, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.IndexExpr, *syntax.DotExpr:
			return false
		case *syntax.Ident:
			if n.Name == name && !pos.IsValid() {
				pos = n.NamePos
			}
		}
		return true
	})
	return pos
}

// localOf returns the position where the innermost function around a line binds
// a name, as a parameter or by an assignment.
func localOf(tree *syntax.File, name string, line int) (pos syntax.Position) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			return inside(n, n.Params, name, line, &pos)
		case *syntax.LambdaExpr:
			return inside(n, n.Params, name, line, &pos)
		case *syntax.AssignStmt:
			if at := target(n.LHS, name); at.IsValid() && indented(at) && !pos.IsValid() {
				pos = at
			}
		case *syntax.ForStmt:
			if at := target(n.Vars, name); at.IsValid() && indented(at) && !pos.IsValid() {
				pos = at
			}
		}
		return true
	})
	return pos
}

// indented reports that a binding is indented. A binding at the margin belongs
// to the file, not to a function.
func indented(at syntax.Position) bool { return at.Col > 1 }

// inside reports that the line is in a function; if one of its parameters has
// the name, *pos becomes its position.
func inside(fn syntax.Node, params []syntax.Expr, name string, line int, pos *syntax.Position) bool {
	start, end := fn.Span()
	if line < int(start.Line) || line > int(end.Line) {
		return false
	}
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			p = b.X
		}
		if id, ok := p.(*syntax.Ident); ok && id.Name == name {
			*pos = id.NamePos
		}
	}
	return true
}

// loadedFile returns the file that a load statement of the document names, and
// its text. A module without a file, such as the standard library inside the
// program, is written into the user's cache, so that the editor can open it.
func (s *server) loadedFile(d *source, module string) (file, content string) {
	switch rest, std := strings.CutPrefix(module, "@stdlib//"); {
	case std:
		text, err := fs.ReadFile(stdlib.FS(), filepath.ToSlash(filepath.Clean(rest)))
		if err != nil {
			return "", ""
		}
		return cached(filepath.Join("stdlib", rest), text), string(text)
	case strings.HasPrefix(module, "."):
		file = filepath.Join(filepath.Dir(d.path), module)
		text, err := os.ReadFile(file)
		if err != nil {
			return "", ""
		}
		return file, string(text)
	case strings.Contains(module, "//"):
		name, text, err := s.Resolve(module, d.path+":1:1")
		if err != nil {
			return "", ""
		}
		return cached(strings.ReplaceAll(name, "//", "/"), text), string(text)
	}
	return "", ""
}

// cached writes a text into the user's cache and returns the path of the file,
// "" if that is not possible.
func cached(name string, content []byte) string {
	dir, err := os.UserCacheDir()
	if err != nil || !filepath.IsLocal(name) {
		return ""
	}
	file := filepath.Join(dir, "ppscript", "sources", name)
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, content) {
		return file
	}
	if os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return ""
	}
	_ = os.Remove(file) // left by another version
	if os.WriteFile(file, content, 0o400) != nil {
		return ""
	}
	return file
}
