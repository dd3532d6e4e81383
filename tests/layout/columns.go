package layout

import (
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// This file checks the columns of lines. A line of code or of a comment ends at
// maxColumns, where a tab is 4 wide.
//
// Longer lines are fine where a break would make them harder to read or to
// find: the rows of tables, a text that stands alone on its line (a message is
// not cut, so that it can be searched for), calls with nothing but literals,
// which are the tables of tests, and the inside of a raw string.

// maxColumns bounds a line.
const maxColumns = 110

// columns finds lines that are too long.
func (c *checker) columns(name string, src []byte) {
	tokens := tokensByLine(src)
	for i, line := range strings.Split(string(src), "\n") {
		if n := columnsOf(line); n > maxColumns && !mayBeLong(strings.TrimSpace(line), tokens[i+1]) {
			c.fault("%s:%d: got %d columns, want at most %d", name, i+1, n, maxColumns)
		}
	}
}

// columnsOf counts the columns of a line.
func columnsOf(line string) int {
	n := 0
	for _, r := range line {
		if r == '\t' {
			n += 4 - n%4
		} else {
			n++
		}
	}
	return n
}

// tokensByLine returns the tokens that begin on each line, from 1. The lines
// inside of raw strings have none.
func tokensByLine(src []byte) map[int][]token.Token {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, src, nil, scanner.ScanComments)

	lines := map[int][]token.Token{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		line := file.Line(pos)
		lines[line] = append(lines[line], tok)
	}
}

// mayBeLong reports that a line is one of those that are not broken.
func mayBeLong(text string, tokens []token.Token) bool {
	if len(tokens) == 0 {
		return true // inside of a raw string
	}
	return strings.HasPrefix(text, "{") || isText(tokens) || isCall(tokens) || isRow(tokens)
}

// isText reports that a line is one text: "text", name: "text", name = "text",
// return "text", or the rest of a raw string that began there.
func isText(tokens []token.Token) bool {
	i := slices.Index(tokens, token.STRING)
	if i < 0 {
		return endsText(tokens)
	}
	for _, t := range tokens[:i] {
		switch t {
		case token.IDENT, token.PERIOD, token.COLON, token.ASSIGN, token.DEFINE, token.CONST, token.RETURN:
		default:
			return false
		}
	}
	return endsText(tokens[i+1:])
}

// endsText reports that only signs follow a text: those that end the call,
// the literal or the block around it, and + of texts.
func endsText(tokens []token.Token) bool {
	return !slices.ContainsFunc(tokens, func(t token.Token) bool {
		return !slices.Contains([]token.Token{
			token.COMMA, token.ADD, token.LPAREN, token.RPAREN, token.RBRACE,
		}, t)
	})
}

// isRow reports that a line is a row of a map of literals.
func isRow(tokens []token.Token) bool {
	return !slices.ContainsFunc(tokens, func(t token.Token) bool {
		return !t.IsLiteral() && t != token.COLON && t != token.COMMA && t != token.RBRACE
	})
}

// isCall reports that a line is a call whose arguments are names and literals.
func isCall(tokens []token.Token) bool {
	i := slices.Index(tokens, token.LPAREN)
	if i < 1 || slices.ContainsFunc(tokens[:i], func(t token.Token) bool {
		return t != token.IDENT && t != token.PERIOD && t != token.RETURN
	}) {
		return false
	}
	return !slices.ContainsFunc(tokens[i+1:], func(t token.Token) bool {
		return !t.IsLiteral() && t != token.COMMA && t != token.SUB && t != token.RPAREN
	})
}
