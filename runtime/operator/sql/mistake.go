package sql

import (
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/text/diag"
)

// This file finds comparisons that no row can pass: of a column of numbers with a
// name, as tables show it in place of the number.

// Mistake returns an error that names a column of numbers which the query compares
// with a text; nil if there is no certain case.
func Mistake(query string, tables []*EventTable) error {
	tokens, ok := tokenize(strings.TrimSuffix(strings.TrimSpace(query), ";"))
	if !ok {
		return nil
	}
	for i := 0; i+2 < len(tokens); i++ {
		column, op, value := tokens[i], tokens[i+1], tokens[i+2]
		if column.kind != word && column.kind != name || value.kind != text ||
			!slices.Contains([]string{"=", "==", "!=", "<>"}, op.text) {
			continue
		}
		if _, err := strconv.ParseFloat(value.text, 64); err == nil {
			continue
		}
		name := column.text[strings.LastIndexByte(column.text, '.')+1:]
		t := numbersOf(name, tables)
		if t == nil || renamed(name, tokens) {
			continue
		}
		e := diag.Errorf(diag.Usage, "sql", query, "column %s holds numbers: none of them is '%s'", name,
			value.text)
		if slices.Contains(symbolicFields(t.Schema), name) {
			return e.WithHint("compare the name: symbolic('%s', %s) %s '%s'", name, column.text, op.text,
				value.text)
		}
		return e.WithHint("give the number")
	}
	return nil
}

// numbersOf returns a table that has the column, if the column has numbers in all
// tables.
func numbersOf(column string, tables []*EventTable) (found *EventTable) {
	for _, t := range tables {
		for _, c := range t.Columns {
			if !strings.EqualFold(c.Name, column) {
				continue
			}
			if c.Type != Integer {
				return nil
			}
			found = t
		}
	}
	return found
}

// renamed reports that the query uses the name of a column for something else.
func renamed(column string, tokens []token) bool {
	for i, t := range tokens {
		if i > 0 && tokens[i-1].is("AS") && strings.EqualFold(t.text, column) {
			return true
		}
	}
	return false
}
