package sql

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lite "modernc.org/sqlite/lib"
)

// This file calls SQLite. Addresses go in and out as uintptr. Addresses of Go memory
// are of heap objects, which do not move and are kept alive by the caller. Memory of
// SQLite is read by libc, which copies.

// A DB is an open database.
type DB struct {
	tls     *libc.TLS
	h       uintptr                         // sqlite3 *
	out     [2]uintptr                      // where SQLite writes results; part of the DB since stacks move
	keep    []any                           // functions that SQLite calls
	ask     *func(*libc.TLS, uintptr) int32 // returns 0 if the statement may go on
	stopped error                           // why a statement was stopped
	growth  int64                           // memory that statements may add to the process; 0: memoryGrowth
	path    string

	open bool // a transaction has begun
	rows int  // rows inserted since the transaction began
	// used is the approximate memory of the rows of a database in memory; rows
	// beyond limit are counted in dropped.
	used, limit int
	dropped     uint64
	tables      []*Table // the tables of events
	denied      string   // the operation that guard refused, until it is reported
}

// An Error is a message of SQLite.
type Error struct {
	Text string
	// Offset is the byte of the statement where the error is; -1 if SQLite does
	// not say.
	Offset int
}

func (e *Error) Error() string { return e.Text }

var errClosed = errors.New("the database is closed")

// Memory is the path of a database in memory.
const Memory = ":memory:"

// MemoryLimit bounds the rows of a database in memory, in bytes.
const MemoryLimit = 1 << 30

const pageSize = 64 << 10

// flushRows is the number of rows of one transaction of a file.
const flushRows = 20000

// Open opens a database, which is made if it does not exist.
func Open(path string) (*DB, error) { return OpenWithin(path, MemoryLimit) }

// OpenWithin is Open where the rows of a database in memory, and the tables that a query makes,
// keep to so many bytes each.
func OpenWithin(path string, most int) (*DB, error) {
	d := &DB{tls: libc.NewTLS(), path: path}
	if path == Memory {
		d.limit = most
	}
	name := cstring(path)
	rc := lite.Xsqlite3_open_v2(d.tls, address(name), d.slot(0),
		lite.SQLITE_OPEN_READWRITE|lite.SQLITE_OPEN_CREATE|lite.SQLITE_OPEN_NOMUTEX, 0)
	runtime.KeepAlive(name)
	d.h = d.out[0]
	err := d.check(rc)
	if err == nil {
		// The file can be made again, so it needs no journal. Nothing is read
		// from it while it is written, so the cache is small.
		setup := "PRAGMA page_size=65536; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" +
			"PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY; PRAGMA user_version"
		if path == Memory {
			// Rows have their own, lower limit; this one bounds tables that a
			// query makes.
			setup += fmt.Sprintf("; PRAGMA max_page_count=%d", max(64, 2*most/pageSize))
		}
		err = d.exec(setup)
	}
	if err == nil {
		d.defaults()
		err = errors.Join(d.defend(), d.guard(nil))
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close ends the transaction and the database.
func (d *DB) Close() error {
	if d.tls == nil {
		return nil
	}
	err := d.Flush()
	if d.h != 0 {
		err = errors.Join(err, d.check(lite.Xsqlite3_close_v2(d.tls, d.h)))
	}
	d.tls.Close()
	d.tls, d.h = nil, 0
	return err
}

// slot is the address of an out member.
func (d *DB) slot(i int) uintptr { return uintptr(unsafe.Pointer(&d.out[i])) }

// cstring is text with its NUL.
func cstring(text string) []byte { return append([]byte(text), 0) }

// address is where b begins. The caller keeps b alive.
func address(b []byte) uintptr {
	if len(b) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// check is the error behind a result code.
func (d *DB) check(rc int32) error {
	if why := d.stopped; why != nil && rc&0xff == lite.SQLITE_INTERRUPT {
		d.stopped = nil
		return why
	}
	switch rc {
	case lite.SQLITE_OK, lite.SQLITE_ROW, lite.SQLITE_DONE:
		return nil
	}
	if d.h == 0 {
		return fmt.Errorf("SQLite: error %d", rc)
	}
	if err := d.deniedError(); err != nil {
		return err
	}
	return &Error{
		Text:   libc.GoString(lite.Xsqlite3_errmsg(d.tls, d.h)),
		Offset: int(lite.Xsqlite3_error_offset(d.tls, d.h)),
	}
}

// exec runs statements and ignores their rows.
func (d *DB) exec(text string) error {
	return d.each(text, func(st *statement) error {
		for {
			if more, err := st.step(); err != nil || !more {
				return err
			}
		}
	})
}

// each prepares the statements of a text, one after the other, for fn.
func (d *DB) each(text string, fn func(st *statement) error) error {
	if d.tls == nil {
		return errClosed
	}
	z := cstring(text)
	defer runtime.KeepAlive(z)
	begin := address(z)
	for at := 0; at < len(text); {
		rc := lite.Xsqlite3_prepare_v2(d.tls, d.h, begin+uintptr(at), -1, d.slot(0), d.slot(1))
		st := &statement{db: d, h: d.out[0], begin: at}
		if err := d.check(rc); err != nil {
			if e, ok := err.(*Error); ok && e.Offset >= 0 {
				e.Offset += at
			}
			return err
		}
		end := int(d.out[1] - begin)
		st.text = strings.TrimSuffix(strings.TrimSpace(text[at:end]), ";")
		at = end
		if st.h == 0 {
			continue // a comment, or blanks
		}
		err := fn(st)
		if rc := lite.Xsqlite3_finalize(d.tls, st.h); err == nil {
			err = d.check(rc)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare is for statements that are used more than once. The database must
// outlive them; closing it finalizes none, which leaves a zombie.
func (d *DB) prepare(text string) (uintptr, error) {
	z := cstring(text)
	rc := lite.Xsqlite3_prepare_v3(d.tls, d.h, address(z), -1, lite.SQLITE_PREPARE_PERSISTENT, d.slot(0), 0)
	runtime.KeepAlive(z)
	return d.out[0], d.check(rc)
}

// begin starts a transaction if there is none.
func (d *DB) begin() error {
	if d.open {
		return nil
	}
	d.open = true
	return d.exec("BEGIN")
}

// Flush commits the rows that were inserted.
func (d *DB) Flush() error {
	if !d.open {
		return nil
	}
	d.open, d.rows = false, 0
	return d.exec("COMMIT")
}

// Dropped returns how many rows found no room since the last call.
func (d *DB) Dropped() uint64 {
	n := d.dropped
	d.dropped = 0
	return n
}

// A statement is prepared SQL.
type statement struct {
	db    *DB
	h     uintptr
	text  string
	begin int // where it begins in the text that it came from
}

// step goes to the next row; false at the end.
func (st *statement) step() (bool, error) {
	rc := lite.Xsqlite3_step(st.db.tls, st.h)
	return rc == lite.SQLITE_ROW, st.db.check(rc)
}

func (st *statement) columns() int { return int(lite.Xsqlite3_column_count(st.db.tls, st.h)) }

func (st *statement) name(i int) string {
	return libc.GoString(lite.Xsqlite3_column_name(st.db.tls, st.h, int32(i)))
}

// origin returns the column of a table of events from which column i of the answer has its cells unchanged;
// nil if the cells are computed, or come from another table.
func (st *statement) origin(i int) *Column {
	name := lite.Xsqlite3_column_origin_name(st.db.tls, st.h, int32(i))
	table := lite.Xsqlite3_column_table_name(st.db.tls, st.h, int32(i))
	if name == 0 || table == 0 {
		return nil
	}
	column, of := libc.GoString(name), libc.GoString(table)
	for _, t := range st.db.tables {
		for i := range t.Columns {
			if t.Name == of && t.Columns[i].Name == column {
				return &t.Columns[i]
			}
		}
	}
	return nil
}

// readonly reports that the statement changes nothing.
func (st *statement) readonly() bool { return lite.Xsqlite3_stmt_readonly(st.db.tls, st.h) != 0 }

// function is the address by which translated C calls *f: the pointer that a func value
// is. The caller keeps f alive.
func function[F any](f *F) uintptr { return *(*uintptr)(unsafe.Pointer(f)) }

// An arg is an argument of a function of SQL.
type arg struct {
	Kind argKind
	Int  int64
	Real float64 // of floating-point numbers
	Data []byte  // of texts and blobs
}

// argKind is the type of a value in SQLite.
type argKind int32

const (
	intArg   argKind = lite.SQLITE_INTEGER
	floatArg argKind = lite.SQLITE_FLOAT
	textArg  argKind = lite.SQLITE_TEXT
	blobArg  argKind = lite.SQLITE_BLOB
	nullArg  argKind = lite.SQLITE_NULL
)

// define adds a function of n arguments to SQL, -1 for any number. Its result is a text.
func (d *DB) define(name string, n int, fn func(args []arg) (string, error)) error {
	return d.defineFunction(name, n, func(args []arg) (arg, error) {
		text, err := fn(args)
		return arg{Kind: textArg, Data: []byte(text)}, err
	})
}

// defineFunction adds a function whose result is a number, a text or nothing.
func (d *DB) defineFunction(name string, n int, fn func(args []arg) (arg, error)) error {
	call := func(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
		list := libc.GoBytes(argv, 8*int(n))
		args := make([]arg, n)
		for i := range args {
			v := uintptr(binary.LittleEndian.Uint64(list[8*i:]))
			a := &args[i]
			a.Kind = argKind(lite.Xsqlite3_value_type(tls, v))
			switch a.Kind {
			case intArg, floatArg:
				a.Int = lite.Xsqlite3_value_int64(tls, v)
				a.Real = lite.Xsqlite3_value_double(tls, v)
			case textArg, blobArg:
				p := lite.Xsqlite3_value_blob(tls, v)
				a.Data = libc.GoBytes(p, int(lite.Xsqlite3_value_bytes(tls, v)))
			}
		}
		result, err := fn(args)
		text := string(result.Data)
		if err != nil {
			text = err.Error()
		}
		z := cstring(text)
		switch {
		case err != nil:
			lite.Xsqlite3_result_error(tls, ctx, address(z), int32(len(text)))
		case result.Kind == intArg:
			lite.Xsqlite3_result_int64(tls, ctx, result.Int)
		case result.Kind == nullArg:
			lite.Xsqlite3_result_null(tls, ctx)
		default:
			const copied = ^uintptr(0) // SQLITE_TRANSIENT
			lite.Xsqlite3_result_text(tls, ctx, address(z), int32(len(text)), copied)
		}
		runtime.KeepAlive(z)
	}
	d.keep = append(d.keep, call)
	z := cstring(name)
	defer runtime.KeepAlive(z)
	return d.check(lite.Xsqlite3_create_function_v2(d.tls, d.h, address(z), int32(n),
		lite.SQLITE_UTF8|lite.SQLITE_INNOCUOUS, 0, function(&call), 0, 0, 0))
}
