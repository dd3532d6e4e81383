package layout

import (
	"go/ast"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// This file checks sizes: how many methods a type has, how many fields a
// struct, and how much code a package. What is over a bound does several jobs
// and wants to be split by them. Tests and generated code do not count.

const (
	// maxMethods bounds the methods that are declared for one type.
	maxMethods = 40
	// maxFields bounds the fields of a struct. An embedded struct is one.
	maxFields = 14
	// maxCode bounds the lines of code of a package, without blank lines and
	// comments.
	maxCode = 5500
)

// sizes is what has been counted so far, of types by "package.Type".
type sizes struct {
	methods map[string]int
	fields  map[string]int
	code    map[string]int
}

func newSizes() sizes {
	return sizes{methods: map[string]int{}, fields: map[string]int{}, code: map[string]int{}}
}

// count counts the declarations and the lines of a file of pkg.
func (s sizes) count(pkg string, file *ast.File, src []byte) {
	s.code[pkg] += codeLines(src)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				s.methods[pkg+"."+receiver(n.Recv.List[0].Type)]++
			}
		case *ast.TypeSpec:
			if st, ok := n.Type.(*ast.StructType); ok {
				s.fields[pkg+"."+n.Name.Name] = fieldsOf(st)
			}
		}
		return true
	})
}

// codeLines counts the lines on which there is more than a comment.
func codeLines(src []byte) int {
	n, last := 0, 0
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, nil, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(text, "\n") // of a raw string
		n += end - max(first, last+1) + 1
		last = end
	}
}

// receiver is the name of a method's type.
func receiver(x ast.Expr) string {
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func fieldsOf(st *ast.StructType) int {
	n := 0
	for _, f := range st.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

// bound says what is larger than it may be. Those in except may be, and must:
// so that list can only shrink.
func (c *checker) bound(got map[string]int, most int, what, split string, except []string) {
	var names []string
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if n := got[name]; n > most && !slices.Contains(except, name) {
			c.fault("%s: got %d %s, want at most %d; %s", name, n, what, most, split)
		}
	}
	for _, name := range except {
		if n := got[name]; n <= most {
			c.fault("%s has %d %s; take it off the list of those that may have more than %d", name, n, what, most)
		}
	}
}

// bounds checks what has been counted.
func (c *checker) bounds() {
	c.bound(c.sizes.methods, maxMethods, "methods", "give a part of its state a type of its own", nil)
	c.bound(c.sizes.fields, maxFields, "fields", "group those that belong together", c.wireFormats)
	c.bound(c.sizes.code, maxCode, "lines of code", "move a job to a package of its own", c.large)
}
