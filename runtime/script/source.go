package script

import (
	"strings"
	"unicode/utf8"

	"ppscript/runtime/text/diag"

	"go.starlark.net/syntax"
)

// maxSource bounds the text of a script in bytes. The parser, and all code that walks its
// trees, is recursive for expressions in brackets, so maxBrackets bounds the depth of
// brackets. Trees also get deep without brackets, by chains of operators and calls, and
// by elif: 1 + 1 + 1 is (1 + 1) + 1. The parser makes these in a loop, but code that
// walks them takes time with the square of the depth, which maxTree bounds.
const (
	maxSource   = 1 << 20
	maxBrackets = 500
	maxTree     = 5000
)

// parse returns the syntax tree of a file, after checking its bounds.
func (h *Host) parse(name, text string, opts *syntax.FileOptions) (*syntax.File, error) {
	if err := h.readable(name, text); err != nil {
		return nil, err
	}
	tree, err := opts.Parse(name, text, 0)
	if err != nil {
		h.texts.remember(name, text, nil)
		return nil, h.explainStatic(err)
	}
	if at := deepNode(tree); at.IsValid() {
		h.texts.remember(name, text, nil)
		d := diag.Errorf(diag.Run, "", "", "more than %d operators, calls or elif follow each other",
			maxTree).
			WithHint("give a part of it a name, or a function of its own; write many cases as a dict")
		return nil, h.At(at, d)
	}
	h.texts.remember(name, text, tree)
	return tree, nil
}

// deepNode is the position at which a tree is deeper than maxTree; an invalid
// position if it is not.
func deepNode(tree *syntax.File) (at syntax.Position) {
	depth := 0
	syntax.Walk(tree, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth >= maxTree && !at.IsValid() {
			switch n := n.(type) {
			case *syntax.BinaryExpr:
				at = n.OpPos
			case *syntax.CallExpr:
				at = n.Lparen
			case *syntax.IfStmt:
				at = n.If
			default:
				at = syntax.Start(n)
			}
		}
		if at.IsValid() {
			return false
		}
		depth++
		return true
	})
	return at
}

// readable returns an error for texts that must not be passed to the parser.
func (h *Host) readable(name, text string) error {
	if len(text) > maxSource {
		return diag.Errorf(diag.Run, "load", name, "got %d bytes, want at most %d", len(text), maxSource).
			WithHint("is it a script? what is data belongs in a recording or a database")
	}
	if line, col := deepest(text); line > 0 {
		h.texts.remember(name, text, nil)
		d := diag.Errorf(diag.Run, "", "", "more than %d brackets are open here", maxBrackets).
			WithHint("close some, or give what is in them names")
		return h.At(syntax.MakePosition(&name, line, col), d)
	}
	return nil
}

// deepest finds the first place with more than maxBrackets open brackets; 0 if
// there is none. Brackets in strings and comments do not count.
func deepest(text string) (line, col int32) {
	line = 1
	begin, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; ch {
		case '\n':
			line, begin = line+1, i+1
		case '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case '"', '\'':
			end := textEnd(text, i)
			for ; i < end; i++ {
				if text[i] == '\n' {
					line, begin = line+1, i+1
				}
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > maxBrackets {
			return line, int32(utf8.RuneCountInString(text[begin:i])) + 1
		}
	}
	return 0, 0
}

// textEnd is the index of the last byte of the string that begins at i.
func textEnd(s string, i int) int {
	quote := s[i : i+1]
	if strings.HasPrefix(s[i:], strings.Repeat(quote, 3)) {
		quote = s[i : i+3]
	}
	for j := i + len(quote); j < len(s); j++ {
		switch {
		case s[j] == '\\':
			j++
		case strings.HasPrefix(s[j:], quote):
			return j + len(quote) - 1
		case len(quote) == 1 && s[j] == '\n':
			return j - 1 // not terminated; the parser reports the error
		}
	}
	return len(s) - 1
}

// atGlobal adds the position at which a file defines a global to an error.
func (h *Host) atGlobal(tree *syntax.File, name string, d *diag.Error) error {
	var at *syntax.Ident
	syntax.Walk(tree, func(n syntax.Node) bool {
		if as, ok := n.(*syntax.AssignStmt); ok && at == nil {
			if id, ok := as.LHS.(*syntax.Ident); ok && id.Name == name {
				at = id
			}
		}
		return at == nil
	})
	if at == nil {
		return d
	}
	return h.At(at.NamePos, d)
}
