package layout

import (
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file checks names: comments begin with the name of what they are about,
// and paths and names that documents and comments mention exist.

// comments finds exported declarations whose comment begins with another name.
func (c *checker) comments(name string, file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				c.comment(name, d.Name.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() {
					doc := t.Doc
					if doc == nil && len(d.Specs) == 1 {
						doc = d.Doc
					}
					c.comment(name, t.Name.Name, doc)
				}
			}
		}
	}
}

func (c *checker) comment(file, name string, doc *ast.CommentGroup) {
	if doc == nil {
		return // several methods may share the comment of the first
	}
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if first := firstWord(text); first != "" && first != name && !strings.Contains(sentence(text), name) {
		c.fault("%s: the comment of %s begins with %q", file, name, first)
	}
}

var word = regexp.MustCompile(`^[\pL\d_]+`)

func firstWord(text string) string { return word.FindString(text) }

// sentence returns the first sentence of a comment.
func sentence(text string) string {
	s, _, _ := strings.Cut(strings.ReplaceAll(text, "\n", " "), ". ")
	return s
}

// paths finds paths of the tree that a document names and that do not exist.
// They stand in backticks and begin with a directory of the tree.
func paths(tree fs.FS, document string, text string) []string {
	var missing []string
	for _, m := range inTicks.FindAllStringSubmatch(text, -1) {
		p := strings.TrimSuffix(m[1], "/")
		top, _, _ := strings.Cut(p, "/")
		if strings.ContainsAny(p, " *<>()") || !isDir(tree, top) {
			continue
		}
		if _, err := fs.Stat(tree, p); err != nil {
			missing = append(missing, document+" names "+p+", which does not exist")
		}
	}
	return missing
}

var inTicks = regexp.MustCompile("`([a-z][^`\n]*)`")

func isDir(tree fs.FS, name string) bool {
	st, err := fs.Stat(tree, name)
	return err == nil && st.IsDir()
}

// foreignPaths are the paths in comments that begin as those of this tree and are of other trees.
var foreignPaths = map[string]string{
	"cmd/compile/abi-internal.md": "Go's",
	"runtime/runtime2.go":         "Go's",
	"runtime/symtab.go":           "Go's",
	"scripts/kallsyms.c":          "the kernel's",
}

// pathInComment matches a path of at least two names, which may follow a blank or an opening mark.
var pathInComment = regexp.MustCompile(`(?:^|[\s"(])([a-z]+(?:/[\w.-]*\w)+)`)

// commentPaths finds paths of the tree that comments mention and that do not exist, and foreign paths that no
// comment mentions.
func commentPaths(tree fs.FS, foreign map[string]string) (faults []string, err error) {
	used := map[string]bool{}
	err = code(tree, func(pkg string, _ []byte, file *ast.File) {
		for _, group := range file.Comments {
			for _, m := range pathInComment.FindAllStringSubmatch(group.Text(), -1) {
				p := m[1]
				top, _, _ := strings.Cut(p, "/")
				if foreign[p] != "" {
					used[p] = true
				} else if _, err := fs.Stat(tree, p); err != nil && isDir(tree, top) {
					faults = append(faults, "a comment of "+pkg+" names "+p+", which does not exist")
				}
			}
		}
	})
	for p := range foreign {
		if !used[p] {
			faults = append(faults, "no comment names "+p+"; take it off the list")
		}
	}
	slices.Sort(faults)
	return faults, err
}

// declared has the names that the code declares: functions, methods, types, values and members, also
// as package.Name. Texts of one word are names too, since texts declare builtins; and what the code uses of
// packages of other modules.
func declared(tree fs.FS) (map[string]bool, error) {
	names := map[string]bool{}
	add := func(pkg string, list ...*ast.Ident) {
		for _, n := range list {
			names[n.Name], names[pkg+"."+n.Name] = true, true
		}
	}
	err := allCode(tree, func(name string, _ []byte, file *ast.File) {
		pkg := strings.TrimSuffix(file.Name.Name, "_test")
		foreign := map[string]bool{}
		for _, spec := range file.Imports {
			if imp, _ := strconv.Unquote(spec.Path.Value); !strings.HasPrefix(imp, module+"/") {
				foreign[path.Base(imp)] = true
			}
		}
		names[pkg], names[path.Base(path.Dir(name))] = true, true
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(pkg, n.Name)
				if n.Recv != nil {
					add(receiver(n.Recv.List[0].Type), n.Name)
				}
			case *ast.TypeSpec:
				add(pkg, n.Name)
			case *ast.ValueSpec:
				add(pkg, n.Names...)
			case *ast.Field:
				add(pkg, n.Names...)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && foreign[x.Name] {
					names[x.Name+"."+n.Sel.Name] = true
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && firstWord(text) == text {
					names[text] = true
				}
			}
			return true
		})
	})
	return names, err
}

// receiver is the name of the type of a method.
func receiver(t ast.Expr) string {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// nameInTicks matches a name of the code between backticks: Name, package.Name or Name().
var nameInTicks = regexp.MustCompile("`([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)?)(?:\\(\\))?`")

// unknownNames finds names between backticks that the code does not declare.
func unknownNames(names map[string]bool, document, text string) (faults []string) {
	for _, m := range nameInTicks.FindAllStringSubmatch(text, -1) {
		if !names[m[1]] {
			faults = append(faults, document+" names "+m[1]+", which the code does not declare")
		}
	}
	return faults
}
