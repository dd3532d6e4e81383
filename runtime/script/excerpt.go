package script

import (
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"ppscript/runtime/text/plain"
)

// A Span is the text that an error points at: a position in one line and the
// number of underlined characters.
type Span struct {
	Pos   syntax.Position
	width int
}

// spanAt extends a position of the interpreter to a word: the attribute after
// the dot, the function before the parenthesis.
func (x *sourceFiles) spanAt(pos syntax.Position) Span {
	sp := Span{pos, 1}
	src := x.source(pos.Filename())
	if src == nil || src.tree == nil {
		return sp
	}
	syntax.Walk(src.tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DotExpr:
			if samePlace(n.Dot, pos) {
				sp = NodeSpan(n.Name)
			}
		case *syntax.CallExpr:
			if samePlace(n.Lparen, pos) {
				fn := n.Fn
				if dot, ok := fn.(*syntax.DotExpr); ok {
					fn = dot.Name
				}
				if s := NodeSpan(fn); s.Pos.Line == pos.Line {
					sp = s
				}
			}
		case *syntax.Ident:
			if samePlace(n.NamePos, pos) {
				sp = NodeSpan(n)
			}
		case *syntax.LoadStmt:
			if samePlace(n.Module.TokenPos, pos) || samePlace(n.Load, pos) {
				sp = NodeSpan(n.Module)
			}
		}
		return true
	})
	return sp
}

// NodeSpan underlines a node up to the end of its first line.
func NodeSpan(n syntax.Node) Span {
	start, end := n.Span()
	w := int(end.Col - start.Col)
	if end.Line != start.Line || w < 1 {
		w = 1
	}
	return Span{start, w}
}

// argSpan finds the argument, in the call at pos, that has the error ae.
func (x *sourceFiles) argSpan(pos syntax.Position, ae *ArgError, otherwise Span) Span {
	src := x.source(pos.Filename())
	if src == nil || src.tree == nil {
		return otherwise
	}
	sp := otherwise
	syntax.Walk(src.tree, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || !samePlace(call.Lparen, pos) {
			return true
		}
		at := 0
		for _, a := range call.Args {
			if kw, ok := a.(*syntax.BinaryExpr); ok && kw.Op == syntax.EQ {
				if id, ok := kw.X.(*syntax.Ident); ok && id.Name == ae.Keyword {
					if ae.InName {
						sp = NodeSpan(id)
					} else {
						sp = NodeSpan(kw.Y)
					}
				}
				continue
			}
			if ae.Keyword == "" && at == ae.Index {
				sp = NodeSpan(a)
			}
			at++
		}
		return true
	})
	return sp
}

// An ArgError is an error of one argument of a builtin; it makes the message
// point at the argument instead of the call.
type ArgError struct {
	Keyword string // the argument's name in the call; "" if positional
	Index   int    // index of a positional argument
	InName  bool   // the name itself is wrong
	Err     error
}

func (e *ArgError) Error() string { return e.Err.Error() }
func (e *ArgError) Unwrap() error { return e.Err }

const maxExcerpt = 100

// excerpt returns the line of sp, and a line with carets below it.
func (x *sourceFiles) excerpt(sp Span) string {
	src := x.source(sp.Pos.Filename())
	if src == nil || sp.Pos.Line < 1 {
		return ""
	}
	text := src.text
	for i := int32(1); i < sp.Pos.Line; i++ {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return ""
		}
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	runes := []rune(plain.Masked(strings.TrimRight(line, " \t\r")))
	col := max(int(sp.Pos.Col)-1, 0)
	// A long line, such as a program given with -c, is cut to the text around the span.
	if len(runes) > maxExcerpt && col > maxExcerpt/2 {
		cut := min(col-maxExcerpt/2, len(runes))
		runes = append([]rune("..."), runes[cut:]...)
		col = col - cut + 3
	}
	if len(runes) > maxExcerpt {
		runes = append(runes[:maxExcerpt:maxExcerpt], []rune("...")...)
	}
	pad := make([]byte, 0, col)
	for i := range col {
		if i < len(runes) && runes[i] == '\t' {
			pad = append(pad, '\t')
		} else {
			pad = append(pad, ' ')
		}
	}
	width := max(min(sp.width, utf8.RuneCountInString(string(runes))-col), 1)
	return "    " + string(runes) + "\n    " + string(pad) + strings.Repeat("^", width)
}
