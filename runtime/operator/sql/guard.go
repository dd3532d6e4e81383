package sql

import (
	"fmt"
	"strings"

	"modernc.org/libc"
	lite "modernc.org/sqlite/lib"
)

// This file restricts queries to the rows of their database. SQLite asks the
// authorizer while it prepares a statement: the answer depends on the
// statement's effect, not on its text, so that comments, case and views hide
// nothing.
//
// A query may make tables, views and indexes of its own in the database that
// it is about. It may not open other files (ATTACH, VACUUM INTO, which attaches
// as well) nor change how SQLite works (PRAGMA, which can name directories and
// make SQLite believe a spoilt file).

// refused are the functions of SQLite that reach beyond the database: code from
// files, and addresses as numbers.
var refused = map[string]bool{"load_extension": true, "fts3_tokenizer": true}

// guard makes SQLite refuse forbidden operations. seen, if not nil, is called
// with every table and column that statements read; the column is "" for a
// table whose rows are only counted.
func (d *DB) guard(seen func(table, column string)) error {
	ask := func(_ *libc.TLS, _ uintptr, action int32, a, b, _, _ uintptr) int32 {
		switch action {
		case lite.SQLITE_READ:
			table := libc.GoString(a)
			switch {
			case strings.HasPrefix(strings.ToLower(table), "pragma_"):
				d.denied = table + " is a PRAGMA as a table"
			case seen != nil:
				seen(table, libc.GoString(b))
			}
		case lite.SQLITE_ATTACH:
			d.denied = "ATTACH and VACUUM open files"
		case lite.SQLITE_DETACH:
			d.denied = "DETACH closes databases"
		case lite.SQLITE_PRAGMA:
			d.denied = "PRAGMA " + libc.GoString(a) + " changes how SQLite works"
		case lite.SQLITE_FUNCTION:
			if name := strings.ToLower(libc.GoString(b)); refused[name] {
				d.denied = name + "() reaches beyond the database"
			}
		}
		if d.denied != "" {
			return lite.SQLITE_DENY
		}
		return lite.SQLITE_OK
	}
	d.keep = append(d.keep, ask)
	// A second line of defence: no second file can be attached.
	lite.Xsqlite3_limit(d.tls, d.h, lite.SQLITE_LIMIT_ATTACHED, 0)
	return d.check(lite.Xsqlite3_set_authorizer(d.tls, d.h, function(&ask), 0))
}

// deniedError is the error of a statement that guard refused; nil if it refused
// none.
func (d *DB) deniedError() error {
	why := d.denied
	d.denied = ""
	if why == "" {
		return nil
	}
	return &Error{Text: fmt.Sprintf("not allowed in a query: %s", why), Offset: -1}
}

// defend makes SQLite distrust the schema of a file, which other users may have
// written.
func (d *DB) defend() error {
	for _, what := range []struct{ option, on int32 }{
		{lite.SQLITE_DBCONFIG_DEFENSIVE, 1}, {lite.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
	} {
		// The arguments of a variadic function lie in SQLite's memory.
		list := libc.NewVaList(what.on, uintptr(0))
		rc := lite.Xsqlite3_db_config(d.tls, d.h, what.option, list)
		libc.Xfree(d.tls, list)
		if err := d.check(rc); err != nil {
			return err
		}
	}
	return nil
}
