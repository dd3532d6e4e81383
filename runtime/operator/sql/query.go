package sql

import (
	"encoding/hex"
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/result"

	"modernc.org/libc"
	lite "modernc.org/sqlite/lib"
)

// Query runs the statements of a query and hands the answer of each to
// show. Statements without columns, such as INSERT, answer nothing.
func (d *DB) Query(query string, show func(t *result.Table) error) error {
	if err := d.Flush(); err != nil {
		return err
	}
	return d.each(query, func(st *statement) error {
		t, err := st.answer()
		if err != nil || len(t.Columns) == 0 {
			return err
		}
		return show(t)
	})
}

// answer is all rows of a statement.
func (st *statement) answer() (*result.Table, error) {
	t := &result.Table{Layout: result.Layout{Grid: true}}
	t.Title = "=== " + st.text + " ==="
	n := st.columns()
	size := 0
	unsigned := make([]bool, n)
	for i := range n {
		c := result.Column{Name: st.name(i), Prec: result.UnitPrec, Left: true}
		if of := st.origin(i); of != nil {
			c.Names, unsigned[i] = of.Names, of.Unsigned
		}
		t.Columns = append(t.Columns, c)
	}
	for {
		more, err := st.step()
		if err != nil || !more {
			return t, err
		}
		row := make([]event.Value, n)
		for i := range row {
			row[i] = st.value(i)
			if unsigned[i] && row[i].Kind == event.IntValue {
				row[i] = event.UintOf(uint64(row[i].Int()))
			}
			size += valueSize + st.size(i)
			if row[i].Numeric() {
				t.Columns[i].Left = false
			}
		}
		if size > answerLimit {
			return t, fmt.Errorf("the answer is larger than %d MiB", answerLimit>>20)
		}
		t.Rows = append(t.Rows, row)
	}
}

// valueSize is the memory of a cell, beside its text.
const valueSize = 48

// size is the bytes of a text or blob of the row at hand.
func (st *statement) size(i int) int {
	switch argKind(lite.Xsqlite3_column_type(st.db.tls, st.h, int32(i))) {
	case textArg:
		return int(lite.Xsqlite3_column_bytes(st.db.tls, st.h, int32(i)))
	case blobArg: // two digits for each byte
		return 2 * int(lite.Xsqlite3_column_bytes(st.db.tls, st.h, int32(i)))
	}
	return 0
}

// Numbers is the first column of a statement's answer.
func (d *DB) Numbers(text string) ([]int64, error) {
	var list []int64
	err := d.each(text, func(st *statement) error {
		for {
			more, err := st.step()
			if err != nil || !more {
				return err
			}
			list = append(list, st.value(0).Int())
		}
	})
	return list, err
}

// value is a cell of the row at hand.
func (st *statement) value(i int) event.Value {
	tls, col := st.db.tls, int32(i)
	switch argKind(lite.Xsqlite3_column_type(tls, st.h, col)) {
	case intArg:
		return event.IntOf(lite.Xsqlite3_column_int64(tls, st.h, col))
	case floatArg:
		return event.FloatOf(lite.Xsqlite3_column_double(tls, st.h, col))
	case textArg:
		return event.StrOf(string(st.bytes(col)))
	case blobArg:
		return event.StrOf("x'" + hex.EncodeToString(st.bytes(col)) + "'")
	}
	return event.Value{}
}

func (st *statement) bytes(col int32) []byte {
	p := lite.Xsqlite3_column_blob(st.db.tls, st.h, col)
	return libc.GoBytes(p, int(lite.Xsqlite3_column_bytes(st.db.tls, st.h, col)))
}
