package sql

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/result"
)

// Queries open no other file and do not change how SQLite works, whether they
// are tried (Check) or run.
func TestQueriesStayInTheirDatabase(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.db")
	table := wakeups()
	d := filled(t, wakeups(), filepath.Join(dir, "own.db"), 3, false)
	for _, query := range []string{
		"VACUUM INTO '" + other + "'",
		"vacuum/**/main into '" + other + "'; SELECT 1",
		"VACUUM",
		"ATTACH '" + other + "' AS o; CREATE TABLE o.x(a)",
		"DETACH main",
		"PRAGMA journal_mode=WAL",
		"PRAGMA temp_store_directory='" + dir + "'",
		"PRAGMA writable_schema=1",
		"SELECT * FROM pragma_database_list",
		"WITH v AS (SELECT * FROM pragma_database_list) SELECT * FROM v",
		"EXPLAIN VACUUM INTO '" + other + "'; VACUUM INTO '" + other + "'",
		"SELECT load_extension('" + other + "')",
	} {
		for _, try := range []struct {
			how string
			err error
		}{
			{"Check", Check([]*Table{table}, query+"; SELECT count(*) FROM wakeup", Functions{})},
			{"Query", d.Query(query, func(*result.Table) error { return nil })},
		} {
			if try.err == nil || !strings.Contains(try.err.Error(), "not allowed in a query: ") {
				t.Errorf("%s %s: got %v, want that it is not allowed", try.how, query, try.err)
			}
		}
		if _, err := os.Stat(other); err == nil {
			t.Fatalf("%s: wrote %s", query, other)
		}
	}
	// A refused statement leaves no trace: the database works on.
	if got := ask(t, d, "SELECT count(*) FROM wakeup"); strings.TrimSpace(got) != "3" {
		t.Errorf("rows: got %q, want 3", got)
	}
}

// Views and tables of a query's own are fine, also with our functions in them
// and when the file is opened again.
func TestQueriesMayMakeViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.db")
	d := filled(t, wakeups(), path, 3, false)
	named := Functions{Ksymbol: func(uint64) string { return "schedule" }}
	if err := d.Define(named); err != nil {
		t.Fatal(err)
	}
	query := "CREATE VIEW v AS SELECT ksymbol(pid) s FROM wakeup; CREATE INDEX i ON wakeup(comm); SELECT DISTINCT s FROM v"
	if got := strings.TrimSpace(ask(t, d, query)); got != "schedule" {
		t.Errorf("got %q, want schedule", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Define(named); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(ask(t, again, "SELECT DISTINCT s FROM v")); got != "schedule" {
		t.Errorf("again: got %q, want schedule", got)
	}
}
