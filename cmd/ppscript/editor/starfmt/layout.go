package starfmt

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// This file keeps layout that the printer of Bazel build files would destroy.
// Build files have no chains of method calls and few tables, so the printer
// indents a link of a chain but not its arguments, prints every element of a
// table on its own line, and puts a blank line before each comment. It has no
// options for these. So markLayout puts marks into the syntax tree, the printer
// prints them unchanged, and unmark then moves the marked text. A printer of
// our own would take a thousand lines for three differences.

// A mark is a NUL byte, which a script cannot contain, and a letter for its
// kind.
const (
	markLink    = "\x00L" // this link of a chain is aligned with the head of the chain
	markRow     = "\x00R" // this element is on the line of the element before it
	markComment = "\x00C" // the author has no blank line before this comment
)

var (
	linkMarks    = regexp.MustCompile(`(?m)^( *)    \.\x00L`)
	rowMarks     = regexp.MustCompile(`,\n *\x00R`)
	commentMarks = regexp.MustCompile(`\n\n( *)\x00C`)
	allMarks     = regexp.MustCompile(`\x00[LRC]`)
)

// markLayout puts the marks into file, whose text is src.
func markLayout(file *build.File, src []byte) {
	build.Walk(file, func(x build.Expr, _ []build.Expr) {
		switch x := x.(type) {
		case *build.ParenExpr:
			openChain(x)
		case *build.ListExpr:
			markRows(x.List)
		case *build.SetExpr:
			markRows(x.List)
		case *build.TupleExpr:
			if !x.NoBrackets {
				markRows(x.List)
			}
		case *build.DictExpr:
			markDictRows(x.List)
		case *build.File:
			markComments(x.Stmt)
		case *build.DefStmt:
			markComments(x.Body)
		case *build.ForStmt:
			markComments(x.Body)
		case *build.IfStmt:
			markComments(x.True)
			markComments(x.False)
		}
	})
	build.Walk(file, func(x build.Expr, stack []build.Expr) {
		if d, ok := x.(*build.DotExpr); ok && breaks(d) && leads(d, src, stack) {
			d.Name = markLink + d.Name
		}
	})
}

// unmark moves the marked text of the printer's output to its place and removes
// the marks.
func unmark(out []byte) []byte {
	out = linkMarks.ReplaceAll(out, []byte("$1."))
	out = rowMarks.ReplaceAll(out, []byte(", "))
	out = commentMarks.ReplaceAll(out, []byte("\n$1"))
	return allMarks.ReplaceAll(out, nil)
}

// breaks reports that a link of a chain begins on another line than the text
// before it ends.
func breaks(d *build.DotExpr) bool {
	_, end := d.X.Span()
	return end.Line != d.NamePos.Line
}

// leads reports that the head of the chain of d begins a line, or will begin
// one after openChain.
func leads(d *build.DotExpr, src []byte, stack []build.Expr) bool {
	start, _ := d.Span()
	line := src[bytes.LastIndexByte(src[:start.Byte], '\n')+1 : start.Byte]
	if len(bytes.TrimSpace(line)) == 0 {
		return true
	}
	for _, outer := range slices.Backward(stack) {
		switch outer := outer.(type) {
		case *build.DotExpr, *build.CallExpr, *build.IndexExpr:
		case *build.ParenExpr:
			inner, _ := outer.X.Span()
			return inner.Byte == start.Byte
		default:
			return false
		}
	}
	return false
}

// openChain puts the parentheses around a chain of several lines on their own
// lines. It moves the opening one to a line that does not exist: the printer
// puts parentheses on their own lines if their content begins on another line.
func openChain(p *build.ParenExpr) {
	for x := p.X; ; {
		switch link := x.(type) {
		case *build.CallExpr:
			x = link.X
		case *build.IndexExpr:
			x = link.X
		case *build.DotExpr:
			if breaks(link) {
				const elsewhere = 1 << 30
				p.Start.Line = elsewhere
				return
			}
			x = link.X
		default:
			return
		}
	}
}

// markRows keeps the rows of a table. An element that begins on the line on
// which the one before ends stays on that line, unless it takes several lines
// or has a comment.
func markRows(list []build.Expr) {
	for i := len(list) - 1; i > 0; i-- {
		if text, ok := inRow(list[i-1], list[i]); ok {
			start, _ := list[i].Span()
			list[i] = &build.LiteralExpr{Start: start, Token: markRow + text}
		}
	}
}

func markDictRows(list []*build.KeyValueExpr) {
	for i := len(list) - 1; i > 0; i-- {
		if _, ok := inRow(list[i-1], list[i]); ok {
			key := list[i].Key
			start, _ := key.Span()
			list[i].Key = &build.LiteralExpr{Start: start, Token: markRow + printed(key)}
		}
	}
}

// inRow returns the text of x; ok says that x stays on the line of the element
// before it.
func inRow(before, x build.Expr) (text string, ok bool) {
	_, end := before.Span()
	start, last := x.Span()
	if end.Line != start.Line || start.Line != last.Line || commented(before) || commented(x) {
		return "", false
	}
	text = printed(x)
	return text, !strings.ContainsAny(text, "\n\x00")
}

// printed returns the text of x, printed as plain Starlark: the printer would
// break lines in a build file.
func printed(x build.Expr) string {
	return strings.TrimSpace(build.FormatString(&build.File{Type: build.TypeDefault, Stmt: []build.Expr{x}}))
}

func commented(x build.Expr) bool {
	found := false
	build.Walk(x, func(x build.Expr, _ []build.Expr) {
		c := x.Comment()
		found = found || len(c.Before)+len(c.Suffix)+len(c.After) > 0
	})
	return found
}

// markComments marks the comments that follow the statement before them without
// a blank line. Comments before functions and load statements keep their blank
// line.
func markComments(stmts []build.Expr) {
	for i := 1; i < len(stmts); i++ {
		before, x := stmts[i-1], stmts[i]
		comments := x.Comment().Before
		if len(comments) == 0 || len(before.Comment().After) > 0 || apart(before) || apart(x) {
			continue
		}
		if _, end := before.Span(); comments[0].Start.Line == end.Line+1 {
			comments[0].Token = markComment + comments[0].Token
		}
	}
}

func apart(x build.Expr) bool {
	switch x.(type) {
	case *build.DefStmt, *build.LoadStmt, *build.CommentBlock:
		return true
	}
	return false
}
