package sql

import (
	"runtime"

	"ppscript/runtime/event"

	lite "modernc.org/sqlite/lib"
)

// This file inserts rows. One statement takes several rows, because a statement costs
// half a microsecond beside its rows, as much as a row; more than eight rows gain
// nothing. Waiting rows are copied, once, since their texts are views of memory that
// dies before the statement runs.

// batchRows is how many rows one statement inserts.
const batchRows = 8

// Rows puts rows into a table: for each the cells in the order of the columns
// that are not unused, then End.
type Rows struct {
	db        *DB
	many, one uintptr // statements that insert several rows, and one
	width     int     // cells of a row
	cells     []cell  // cells of the waiting rows
	data      []byte  // texts and blobs of the waiting rows
	err       error
}

type cell struct {
	kind argKind
	num  int64 // a number; for a text or blob, the index in data where it begins
	size int32
	real float64
}

// Rows prepares the insertion of rows into a table. If single is set, each row
// is inserted by itself: the plain way, for comparison.
func (d *DB) Rows(t *Table, single bool) (*Rows, error) {
	r := &Rows{db: d}
	for i := range t.Columns {
		r.width += int(event.Bit(!t.Columns[i].Unused))
	}
	var err error
	if r.one, err = d.prepare(t.insert(1)); err != nil {
		return nil, err
	}
	if !single {
		r.many, err = d.prepare(t.insert(batchRows))
	}
	return r, err
}

// Int adds a cell.
func (r *Rows) Int(v int64) { r.cells = append(r.cells, cell{kind: intArg, num: v}) }

// Null adds a cell without a value.
func (r *Rows) Null() { r.cells = append(r.cells, cell{kind: nullArg}) }

// Real adds a cell.
func (r *Rows) Real(v float64) { r.cells = append(r.cells, cell{kind: floatArg, real: v}) }

// Text adds a cell and copies its text.
func (r *Rows) Text(b []byte) { r.bytes(textArg, b) }

// Blob adds a cell and copies its bytes.
func (r *Rows) Blob(b []byte) { r.bytes(blobArg, b) }

func (r *Rows) bytes(kind argKind, b []byte) {
	r.cells = append(r.cells, cell{kind: kind, num: int64(len(r.data)), size: int32(len(b))})
	r.data = append(r.data, b...)
	r.db.used += len(b)
}

// End ends a row. Err returns its error, if there is one.
func (r *Rows) End() {
	d := r.db
	if d.limit > 0 {
		if d.used >= d.limit {
			d.dropped++
			r.drop()
			return
		}
		d.used += rowBytes + r.width*cellBytes
	}
	if r.many == 0 || len(r.cells) >= batchRows*r.width {
		r.Flush()
	}
}

// The approximate bytes of a row in memory and of each of its cells, without texts.
const (
	rowBytes  = 16
	cellBytes = 6
)

// drop removes the last row, which was not inserted yet.
func (r *Rows) drop() {
	from := len(r.cells) - r.width
	for _, c := range r.cells[from:] {
		if c.kind == textArg || c.kind == blobArg {
			r.data = r.data[:c.num]
			break
		}
	}
	r.cells = r.cells[:from]
}

// Err is the first error.
func (r *Rows) Err() error { return r.err }

// Flush puts in the rows that wait.
func (r *Rows) Flush() {
	rest := r.cells
	if len(rest) > 0 && r.err == nil {
		r.err = r.db.begin()
	}
	if r.many != 0 && len(rest) == batchRows*r.width {
		r.run(r.many, rest)
		rest = nil
	}
	for len(rest) > 0 {
		r.run(r.one, rest[:r.width])
		rest = rest[r.width:]
	}
	r.cells, r.data = r.cells[:0], r.data[:0]
}

// run executes a statement with cells.
func (r *Rows) run(st uintptr, cells []cell) {
	if r.err != nil {
		return
	}
	tls, data := r.db.tls, address(r.data)
	rc := int32(lite.SQLITE_OK)
	for i := range cells {
		c, at := &cells[i], int32(i+1)
		switch c.kind {
		case intArg:
			rc |= lite.Xsqlite3_bind_int64(tls, st, at, c.num)
		case textArg:
			rc |= lite.Xsqlite3_bind_text(tls, st, at, start(data, c), c.size, 0)
		case blobArg:
			rc |= lite.Xsqlite3_bind_blob(tls, st, at, start(data, c), c.size, 0)
		case floatArg:
			rc |= lite.Xsqlite3_bind_double(tls, st, at, c.real)
		default:
			rc |= lite.Xsqlite3_bind_null(tls, st, at)
		}
	}
	if rc != lite.SQLITE_OK {
		r.err = r.db.check(rc)
		return
	}
	r.err = r.db.check(lite.Xsqlite3_step(tls, st))
	lite.Xsqlite3_reset(tls, st)
	runtime.KeepAlive(r.data)
	if r.db.rows += len(cells) / r.width; r.db.rows >= flushRows && r.db.limit == 0 && r.err == nil {
		r.err = r.db.Flush()
	}
}

// start is the address of a text or blob. If it is empty, the address must
// still not be 0, which means NULL.
func start(data uintptr, c *cell) uintptr {
	if c.size == 0 {
		return address(nul[:])
	}
	return data + uintptr(c.num)
}

var nul [1]byte

// Close ends the statements; the database is still open.
func (r *Rows) Close() {
	for _, st := range []uintptr{r.one, r.many} {
		if st != 0 {
			lite.Xsqlite3_finalize(r.db.tls, st)
		}
	}
	r.one, r.many = 0, 0
}
