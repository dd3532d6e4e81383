package layout

import (
	"go/ast"
	"io/fs"
	"regexp"
	"strings"
)

// This file checks names: comments begin with the name of what they are about,
// and the paths that documents name exist.

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

// sentence is the first one of a comment.
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
