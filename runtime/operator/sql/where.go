package sql

import (
	"strconv"
	"strings"
)

// This file finds conditions of a query that can be checked on events before they
// become rows: WHERE a > 1 AND b = 'x'. It only handles queries of one SELECT from one
// table, and terms of WHERE that compare a column with a constant and must hold for
// every row. SQLite evaluates all terms, also these.

// A Term is a comparison that every row of a query must pass.
type Term struct {
	Column string
	Op     string // == != < > <= >=, ~ for GLOB
	Text   string // the constant, if IsText
	Int    int64
	IsText bool
}

// operators maps SQL's comparisons to C's.
var operators = map[string]string{
	"=":    "==",
	"==":   "==",
	"!=":   "!=",
	"<>":   "!=",
	"<":    "<",
	">":    ">",
	"<=":   "<=",
	">=":   ">=",
	"GLOB": "~",
}

// doubtful has words that change the meaning of a term, or which rows the query reads.
var doubtful = map[string]bool{"UNION": true, "EXCEPT": true, "INTERSECT": true, "JOIN": true, "WITH": true,
	"VALUES": true, "EXISTS": true,
	"OR": true, "BETWEEN": true, "CASE": true, "COLLATE": true, "ESCAPE": true, "LIKE": true, "INSERT": true,
	"CREATE": true, "EXPLAIN": true}

// Terms returns the terms of a query that every row of table must pass.
func Terms(query, table string) []Term {
	tokens, ok := tokenize(strings.TrimSuffix(strings.TrimSpace(query), ";"))
	if !ok || len(tokens) == 0 || !tokens[0].is("SELECT") {
		return nil
	}
	from := 0
	for i, t := range tokens {
		switch {
		case t.kind == word && doubtful[strings.ToUpper(t.text)], i > 0 && t.is("SELECT"),
			from > 0 && t.is("FROM"):
			return nil
		case t.is("FROM"):
			from = i
		}
	}
	if from == 0 || len(tokens) < from+3 || !strings.EqualFold(tokens[from+1].text, table) ||
		!tokens[from+2].is("WHERE") {
		return nil
	}
	var terms []Term
	var term []token
	depth := 0
	end := func() {
		if t, ok := simple(term); ok {
			terms = append(terms, t)
		}
		term = term[:0]
	}
	for _, t := range tokens[from+3:] {
		if depth == 0 {
			if t.is("GROUP") || t.is("ORDER") || t.is("LIMIT") || t.is("HAVING") || t.is("WINDOW") {
				break
			}
			if t.is("AND") {
				end()
				continue
			}
		}
		switch t.text {
		case "(":
			depth++
		case ")":
			depth--
		}
		term = append(term, t)
	}
	end()
	return terms
}

// simple parses a term that compares a column with a constant.
func simple(t []token) (Term, bool) {
	if len(t) == 4 && t[2].text == "-" && t[3].kind == number {
		t = []token{t[0], t[1], {number, "-" + t[3].text}}
	}
	if len(t) != 3 || t[0].kind != word && t[0].kind != name {
		return Term{}, false
	}
	op, ok := operators[strings.ToUpper(t[1].text)]
	if !ok {
		return Term{}, false
	}
	x := Term{Column: t[0].text, Op: op}
	switch t[2].kind {
	case number:
		n, err := strconv.ParseInt(t[2].text, 10, 64)
		x.Int = n
		return x, err == nil && op != "~"
	case text:
		x.IsText, x.Text = true, t[2].text
		return x, op == "==" || op == "!=" || op == "~"
	}
	return Term{}, false
}

type tokenKind uint8

const (
	word   tokenKind = iota // an identifier or keyword
	name                    // an identifier in quotes
	number                  // of digits; others are signs
	text                    // in single quotes
	sign
)

type token struct {
	kind tokenKind
	text string
}

// is reports that the token is a keyword.
func (t token) is(keyword string) bool { return t.kind == word && strings.EqualFold(t.text, keyword) }

// tokenize splits a statement into tokens; ok is false if there are several
// statements, comments, or quotes in quotes.
func tokenize(s string) (tokens []token, ok bool) {
	letter := func(c byte) bool {
		return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			c >= '0' && c <= '9' || c == '$' || c == '.'
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == ';' || c == '[' || c == '`' || strings.HasPrefix(s[i:], "--") ||
			strings.HasPrefix(s[i:], "/*"):
			return nil, false
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 || i+end+2 < len(s) && s[i+end+2] == c {
				return nil, false
			}
			kind := text
			if c == '"' {
				kind = name
			}
			tokens = append(tokens, token{kind, s[i+1 : i+1+end]})
			i += end + 2
		case letter(c):
			from := i
			for i < len(s) && letter(s[i]) {
				i++
			}
			kind := word
			if c >= '0' && c <= '9' {
				kind = number
			}
			tokens = append(tokens, token{kind, s[from:i]})
		default:
			n := 1
			if i+1 < len(s) && strings.Contains(" <= >= <> != == || << >> ", " "+s[i:i+2]+" ") {
				n = 2
			}
			tokens = append(tokens, token{sign, s[i : i+n]})
			i += n
		}
	}
	return tokens, true
}
