package sql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) "

func TestCheckEnds(t *testing.T) {
	for _, query := range []string{
		"CREATE TABLE x AS " + endless + "SELECT x FROM c; SELECT count(*) FROM x",
		"CREATE TABLE x(n); INSERT INTO x " + endless + "SELECT count(*) FROM c; SELECT * FROM x",
	} {
		err := Check([]*Table{wakeups()}, query, Functions{})
		if !errors.Is(err, errEndless) || diag.HintOf(err) == "" {
			t.Errorf("%s: got %v, want %v", query, err, errEndless)
		}
	}
}

// A check has empty tables, and needs little memory.
func TestCheckTakesLittleMemory(t *testing.T) {
	before := resident()
	err := Check([]*Table{wakeups()}, "CREATE TABLE x(n); INSERT INTO x "+endless+
		"SELECT zeroblob(100000) FROM c; SELECT * FROM x", Functions{})
	if err == nil || !strings.Contains(err.Error(), "it takes more than 256 MiB of memory") {
		t.Errorf("got %v", err)
	}
	if grown := resident() - before; grown > checkGrowth+256<<20 {
		t.Errorf("it took %d MiB", grown>>20)
	}
}

func TestStatementsStop(t *testing.T) {
	d := filled(t, wakeups(), Memory, 300, true)
	told := errors.New("told to end")
	for _, query := range []string{
		endless + "SELECT count(*) FROM c",
		"SELECT count(*) FROM wakeup a, wakeup b, wakeup c, wakeup d",
	} {
		n := 0
		d.Until(func() error {
			if n++; n > 100 {
				return told
			}
			return nil
		})
		if err := d.Query(query, func(*result.Table) error { return nil }); !errors.Is(err, told) {
			t.Errorf("%s: got %v, want %v", query, err, told)
		}
	}
	// It can be asked again.
	d.Until(func() error { return nil })
	rows := 0
	err := d.Query("SELECT count(*) FROM wakeup", func(r *result.Table) error {
		rows = int(r.Rows[0][0].Int())
		return nil
	})
	if err != nil || rows != 300 {
		t.Errorf("got %d rows, %v", rows, err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	d := filled(t, wakeups(), Memory, 1, true)
	for query, want := range map[string]string{
		// 10 MiB of hexadecimal digits for each row.
		"SELECT zeroblob(10000000) FROM (" + endless +
			"SELECT x FROM c LIMIT 1000)": "the answer is larger than 256 MiB",
		"SELECT zeroblob(100000000)": "too big",
	} {
		err := d.Query(query, func(*result.Table) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", query, err, want)
		}
	}
}

// A table that a query makes has no more than twice the room of the rows.
func TestTablesAreBounded(t *testing.T) {
	const most = 32 << 20
	d, err := OpenWithin(Memory, most)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	fills := func(bytes int) error {
		return d.exec(fmt.Sprintf("CREATE TABLE z%d AS SELECT zeroblob(%d)", bytes, bytes))
	}
	for range 3 {
		err = errors.Join(err, fills(most/4), d.exec(fmt.Sprintf("DROP TABLE z%d", most/4)))
	}
	if err != nil {
		t.Errorf("small ones, one after another: got %v", err)
	}
	err = d.exec("CREATE TABLE z AS " + endless + "SELECT zeroblob(4000000) FROM c")
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("one without end: got %v, want that it is full", err)
	}
}
