package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/text/diag"
)

// This file checks a query before anything is opened: on empty tables. The
// columns that SQLite reads while it prepares the statements are the columns that
// have to be filled.

// Check marks the columns that a query does not read as unused. The error of a
// wrong query points at its place and lists the tables or columns.
func Check(tables []*Table, query string, f Functions) error {
	d, err := Open(Memory)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Create(tables, 0); err != nil {
		return err
	}
	if err := d.Define(f); err != nil {
		return err
	}
	read := map[string]map[string]bool{}
	err = d.guard(func(table, column string) {
		table = strings.ToLower(table)
		if read[table] == nil {
			read[table] = map[string]bool{}
		}
		read[table][strings.ToLower(column)] = true
	})
	if err != nil {
		return err
	}
	d.growth = checkGrowth
	d.Until(stepLimit(checkSteps))
	asks := false
	err = d.each(query, func(st *statement) error {
		asks = asks || st.columns() > 0
		if st.readonly() {
			return nil
		}
		// Later statements may ask for tables that this one makes.
		_, err := st.step()
		return err
	})
	if err != nil {
		return wrong(tables, query, err)
	}
	if !asks {
		return diag.Errorf(diag.Usage, "query", query, "asks for nothing").
			WithHint("end with a SELECT, for example: SELECT count(*) FROM %s", quoteIfNeeded(tables[0].Name))
	}
	for _, t := range tables {
		used := read[strings.ToLower(t.Name)]
		for i := range t.Columns {
			c := &t.Columns[i]
			c.Unused = !used[strings.ToLower(c.Name)]
		}
		if !slices.ContainsFunc(t.Columns, func(c Column) bool { return !c.Unused }) {
			t.Columns[0].Unused = false // rows are counted
		}
	}
	return nil
}

// wrong adds a place and a hint to an error of SQLite.
func wrong(tables []*Table, query string, err error) error {
	e := &diag.Error{Op: "query", Class: diag.Usage, Cause: err, Hint: hint(tables, query)}
	var said *Error
	if !errors.As(err, &said) {
		return e
	}
	if kind, name, ok := strings.Cut(said.Text, ": "); ok {
		_, name, _ = cutLast(name, ".")
		switch kind {
		case "no such table":
			e.Cause = fmt.Errorf("%w%s", err, diag.DidYouMean(name, tableNames(tables)))
		case "no such column":
			var names []string
			for _, t := range mentioned(tables, query) {
				names = append(names, t.Names()...)
			}
			help := diag.DidYouMean(name, names)
			if strings.EqualFold(name, "_comm") && slices.Contains(names, "_tid") { // as keys have it
				help = " (the name of the thread is comm(_tid))"
			}
			e.Cause = fmt.Errorf("%w%s", err, help)
		}
	}
	if said.Offset >= 0 && said.Offset <= len(query) {
		e.Excerpt = excerpt(query, said.Offset)
	}
	return e
}

// cutLast cuts a text at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// excerpt is the line of the query at a byte, with a caret below.
func excerpt(query string, at int) string {
	begin := strings.LastIndexByte(query[:at], '\n') + 1
	line, _, _ := strings.Cut(query[begin:], "\n")
	return "    " + line + "\n    " + strings.Repeat(" ", len([]rune(query[begin:at]))) + "^"
}

// maxHint bounds how many tables a hint lists with their columns.
const maxHint = 4

// hint lists the tables; with columns the tables that the query mentions, or all if
// they are few.
func hint(tables []*Table, query string) string {
	full := mentioned(tables, query)
	if len(full) == 0 || len(tables) <= maxHint {
		full = tables
	}
	var parts []string
	for i, t := range full {
		if i == maxHint {
			break
		}
		names := t.Names()
		for j := range names {
			names[j] = quoteIfNeeded(names[j])
		}
		parts = append(parts, quoteIfNeeded(t.Name)+"("+strings.Join(names, ", ")+")")
	}
	var others []string
	for _, t := range tables {
		if !slices.Contains(full[:min(len(full), maxHint)], t) {
			others = append(others, quoteIfNeeded(t.Name))
		}
	}
	return "the tables are " + strings.Join(append(append(parts, others...), metadata), ", ")
}

// mentioned lists the tables whose name occurs in the query.
func mentioned(tables []*Table, query string) []*Table {
	var list []*Table
	query = strings.ToLower(query)
	for _, t := range tables {
		if strings.Contains(query, strings.ToLower(t.Name)) {
			list = append(list, t)
		}
	}
	return list
}

func tableNames(tables []*Table) []string {
	var names []string
	for _, t := range tables {
		names = append(names, t.Name)
	}
	return append(names, metadata)
}

// quoteIfNeeded quotes a name for a query if it needs quotes.
func quoteIfNeeded(name string) string {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return Quote(name)
		}
	}
	return name
}
