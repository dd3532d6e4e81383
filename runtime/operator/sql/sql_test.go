package sql

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

// wakeups is a table with a column of each type.
func wakeups() *Table {
	return &Table{
		Name:  "wakeup",
		Index: "pid",
		Time:  "_time",
		Columns: []Column{
			{Name: "_time"},
			{Name: "pid"},
			{Name: "comm", Type: Text},
			{Name: "mask", Type: Blob},
			{Name: "load", Type: Real},
		},
		About: About{
			System:    "sched",
			Event:     "wakeup",
			ID:        7,
			Filter:    "pid > 'x'",
			Fields:    4,
			Functions: []string{"comm(pid)"},
		},
	}
}

// filled is a database with n rows of t, whose cells follow from their number.
func filled(t testing.TB, table *Table, path string, n int, single bool) *DB {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if err := d.Create([]*Table{table}, 1234); err != nil {
		t.Fatal(err)
	}
	rows, err := d.Rows(table, single)
	if err != nil {
		t.Fatal(err)
	}
	fill(rows, table, n)
	rows.Flush()
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	rows.Close()
	return d
}

func fill(rows *Rows, table *Table, n int) {
	var text []byte
	for i := range n {
		for _, c := range table.Columns {
			switch {
			case c.Unused:
			case i%5 == 4 && c.Name != "_time":
				rows.Null()
			case c.Type == Text:
				text = fmt.Appendf(text[:0], "comm-%d", i%3)
				if i%7 == 6 {
					text = text[:0]
				}
				rows.Text(text)
			case c.Type == Blob:
				rows.Blob([]byte{0, byte(i), 0xff})
			case c.Type == Real:
				rows.Real(float64(i) / 4)
			default:
				rows.Int(math.MinInt64 + int64(i))
			}
		}
		rows.End()
	}
}

// ask is the answer of a query, as lines.
func ask(t testing.TB, d *DB, query string) string {
	t.Helper()
	var b strings.Builder
	err := d.Query(query, func(t *result.Table) error {
		for _, row := range t.Rows {
			for i, v := range row {
				if i > 0 {
					b.WriteByte(' ')
				}
				if v.Kind == event.None {
					b.WriteString("NULL")
				}
				b.WriteString(v.String())
			}
			b.WriteByte('\n')
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestBatchesEqualSingleRows checks that rows that go in together equal rows that go in one by one,
// with any rest of a batch.
func TestBatchesEqualSingleRows(t *testing.T) {
	for _, n := range []int{0, 1, batchRows - 1, batchRows, batchRows + 1, 3*batchRows + 5} {
		table := wakeups()
		const all = "SELECT *, typeof(comm), typeof(mask), typeof(load) FROM wakeup ORDER BY rowid"
		got, want := ask(t, filled(t, table, Memory, n, false), all),
			ask(t, filled(t, table, Memory, n, true), all)
		if got != want || strings.Count(got, "\n") != n {
			t.Errorf("%d rows: got\n%swant\n%s", n, got, want)
		}
	}
	d := filled(t, wakeups(), Memory, 7, false)
	const want = "-9223372036854775807 -9223372036854775807 comm-1 x'0001ff' 0.25\n" +
		"-9223372036854775804 NULL NULL NULL NULL\n" +
		"-9223372036854775802 -9223372036854775802  x'0006ff' 1.5\n"
	if got := ask(t, d, "SELECT * FROM wakeup WHERE rowid IN (2, 5, 7)"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestCheckFindsWhatIsRead(t *testing.T) {
	f := func(query, want string) {
		t.Helper()
		table, other := wakeups(), &Table{Name: "Other", Columns: []Column{{Name: "_pid"}, {Name: "x"}}}
		if err := Check([]*Table{table, other}, query, Functions{}); err != nil {
			t.Errorf("%s: %v", query, err)
			return
		}
		var used []string
		for _, x := range []*Table{table, other} {
			for _, c := range x.Columns {
				if !c.Unused {
					used = append(used, x.Name+"."+c.Name)
				}
			}
		}
		if got := strings.Join(used, " "); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	f("SELECT count(*) FROM wakeup", "wakeup._time Other._pid")
	f("SELECT COMM, count(*) FROM Wakeup GROUP BY 1", "wakeup.comm Other._pid")
	f("SELECT * FROM other", "wakeup._time Other._pid Other.x")
	f("SELECT 1 FROM wakeup w JOIN other o ON o.x = w.pid WHERE w.load > 1", "wakeup.pid wakeup.load Other.x")
	f("CREATE VIEW v AS SELECT pid p FROM wakeup; SELECT p FROM v; -- all\n", "wakeup.pid Other._pid")
	f("SELECT (SELECT max(mask) FROM wakeup) FROM event_metadata", "wakeup.mask Other._pid")
}

// TestNamesOfThreads checks that keys of other results have a name that tables do not: what to
// write is told.
func TestNamesOfThreads(t *testing.T) {
	tables := []*Table{{Name: "w", Columns: []Column{{Name: "_tid"}, {Name: "x"}}}}
	err := Check(tables, "SELECT _comm, count(*) FROM w GROUP BY 1", Functions{})
	if err == nil || !strings.Contains(err.Error(), "the name of the thread is comm(_tid)") {
		t.Errorf("got %v", err)
	}
}

func TestCheckExplains(t *testing.T) {
	f := func(query, want, at string) {
		t.Helper()
		err := Check([]*Table{wakeups()}, query, Functions{})
		var e *diag.Error
		switch {
		case !errors.As(err, &e) || e.Class != diag.Usage:
			t.Errorf("%s: got %v, want a usage error", query, err)
		case !strings.Contains(err.Error(), want) || !strings.Contains(e.Excerpt+"$", at+"^$") && at != "":
			t.Errorf("%s: got %v\n%s\nwant %s at %q", query, err, e.Excerpt, want, at)
		case !strings.Contains(e.Hint, "wakeup(_time, pid, comm, mask, load), event_metadata") &&
			!strings.Contains(e.Hint, "SELECT count(*) FROM wakeup"):
			t.Errorf("%s: got hint %s, want the tables", query, e.Hint)
		}
	}
	f("SELECT com FROM wakeup", "no such column: com (did you mean comm?)", "    "+"       ")
	f("SELECT _comm FROM wakeup", "no such column: _comm", "    "+"       ")
	f("SELECT 1;\nSELECT com FROM wakeup", "no such column", "\n    "+"       ")
	f("SELECT 1 FROM wakeups", "no such table: wakeups (did you mean wakeup?)", "")
	f("SELECT 1 FORM wakeup", "syntax error", "    "+"              ")
	f("SELECT nosuch(1)", "no such function: nosuch", "")
	f("-- nothing", "asks for nothing", "")
	f("DELETE FROM wakeup", "asks for nothing", "")
}

func TestMetadataAndIndex(t *testing.T) {
	table := wakeups()
	file := filepath.Join(t.TempDir(), "events.db")
	d := filled(t, table, file, 10, false)
	if err := errors.Join(d.NoteEvents("wakeup", 10, 5, 9), d.Index([]*Table{table})); err != nil {
		t.Fatal(err)
	}
	const want = "wakeup sched wakeup 7 pid > 'x' 0 0 4 1234 10 5 9 comm(pid)\n"
	if got := ask(t, d, "SELECT * FROM event_metadata"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	plan := ask(t, d, "EXPLAIN QUERY PLAN SELECT * FROM wakeup WHERE pid = 1 AND _time > 2")
	if got := plan; !strings.Contains(got, "USING INDEX wakeup_pid (pid=? AND _time>?)") {
		t.Errorf("got %s, want the index", got)
	}
	if err := d.Clear([]*Table{table}); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, d, "SELECT count(*) FROM wakeup"); got != "0\n" {
		t.Errorf("got %s rows behind Clear", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// Opening the file anew replaces these tables, and no others.
	again, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := errors.Join(again.exec("CREATE TABLE mine(x); INSERT INTO mine VALUES(1)"),
		again.Create([]*Table{table}, 1)); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, again, "SELECT x FROM mine"); got != "1\n" {
		t.Errorf("got %q of a table that is not ours, want 1", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	table := wakeups()
	d, err := Open(Memory)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.limit = 10 * (rowBytes + 5*cellBytes + 9)
	if err := d.Create([]*Table{table}, 1); err != nil {
		t.Fatal(err)
	}
	rows, err := d.Rows(table, false)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for range 2 { // a second interval has the same room
		fill(rows, table, 100)
		rows.Flush()
		var n int
		fmt.Sscan(ask(t, d, "SELECT count(*) FROM wakeup"), &n)
		if dropped := d.Dropped(); n < 8 || n > 14 || uint64(n)+dropped != 100 {
			t.Errorf("got %d rows and %d dropped, want about ten, and a hundred in all", n, dropped)
		}
		if err := d.Clear([]*Table{table}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFunctions(t *testing.T) {
	d, err := Open(Memory)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	schema := &event.Schema{
		System: "irq",
		Name:   "softirq",
		Fields: []event.Field{{Name: "vec"}, {Name: "flags"}},
	}
	schema.Symbolic = func(field string) *event.Symbols {
		switch field {
		case "vec":
			return &event.Symbols{Names: map[uint64]string{1: "TIMER"}}
		case "flags":
			return &event.Symbols{
				Names: map[uint64]string{1: "A", 4: "C"},
				Order: []uint64{1, 4},
				Flags: true,
				Delim: "|",
			}
		}
		return nil
	}
	err = d.Define(Functions{
		Ksymbol: func(addr uint64) string { return map[uint64]string{0xffffffff81000000: "_stext"}[addr] },
		Syscall: func(nr int64) string { return map[int64]string{39: "getpid"}[nr] },
		Comm:    func(tid int32) string { return map[int32]string{7: "db"}[tid] },
		Schemas: map[string]*event.Schema{"softirq": schema},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(call, want string) {
		t.Helper()
		if got := ask(t, d, "SELECT "+call); got != want+"\n" {
			t.Errorf("%s: got %swant %s", call, got, want)
		}
	}
	f("ksymbol(-2130706432)", "_stext")
	f("ksymbol(1)", "??")
	f("log2(5000), log2(1), log2(0), log2(-8), log2(9223372036854775807)", "12 0 -1 -1 62")
	f("log2(4.7), log2(0.5), typeof(log2(8.0)), log2(NULL) IS NULL", "2 -1 integer 1")
	f("syscall(39), syscall(40)", "getpid ??")
	f("comm(7), comm(8)", "db ??")
	f("symbolic('vec', 1), symbolic('vec', 2)", "TIMER UNKNOWN")
	f("symbolic('softirq.flags', 13), symbolic('flags', 0)", "A|C|0x8 ")
	f("ipv4_str(x'7f000001'), ipv4_hstr(x'7f000001'), ipv4_str(x'7f')", "127.0.0.1 1.0.0.127 ??")
	f("ipv6_str(x'00000000000000000000000000000001')", "::1")
	f("ipsa_str(x'0200005001020304'||zeroblob(8))", "1.2.3.4:80")
	f("mac_str(x'0102030405ff')", "01:02:03:04:05:ff")
	f("uuid_str(x'00112233445566778899aabbccddeeff')", "00112233-4455-6677-8899-aabbccddeeff")
	f("guid_str(x'00112233445566778899aabbccddeeff')", "33221100-5544-7766-8899-aabbccddeeff")
	for query, want := range map[string]string{
		"SELECT symbolic(1)":      "which field",
		"SELECT symbolic('x', 1)": "those of flags, vec have",
	} {
		err := d.Query(query, func(*result.Table) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
	}
}

func TestOpenRefusesWhatIsNoDatabase(t *testing.T) {
	if d, err := Open("/nonexistent/x.db"); err == nil {
		d.Close()
		t.Error("opened a file in a folder that does not exist")
	}
	if d, err := Open("sql_test.go"); err == nil || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("got %v, %v, want that it is not a database", d, err)
	}
}

// BenchmarkInsert puts rows like those of sched_switch in: through the
// statement of several rows, one by one in one transaction, and each in a
// transaction of its own.
func BenchmarkInsert(b *testing.B) {
	table := &Table{Name: "sched_switch"}
	for i := range 15 {
		c := Column{Name: fmt.Sprint("c", i)}
		if i == 8 || i == 12 {
			c.Type = Text
		}
		table.Columns = append(table.Columns, c)
	}
	narrow := &Table{Name: "sched_switch", Columns: append([]Column(nil), table.Columns...)}
	for i := range narrow.Columns {
		narrow.Columns[i].Unused = i != 8
	}
	for _, c := range []struct {
		name   string
		table  *Table
		single bool
		commit bool
		file   bool
	}{
		{"batched/memory", table, false, false, false},
		{"batched-one-column/memory", narrow, false, false, false},
		{"batched/file", table, false, false, true},
		{"single/memory", table, true, false, false},
		{"single-transactions/memory", table, true, true, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			path := Memory
			if c.file {
				path = filepath.Join(b.TempDir(), "x.db")
			}
			d := filled(b, c.table, path, 0, c.single)
			rows, err := d.Rows(c.table, c.single)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			comm := []byte("kworker/1:1")
			for n := range b.N {
				for i := range c.table.Columns {
					switch col := &c.table.Columns[i]; {
					case col.Unused:
					case col.Type == Text:
						rows.Text(comm)
					default:
						rows.Int(int64(n))
					}
				}
				rows.End()
				if c.commit {
					if err := d.Flush(); err != nil {
						b.Fatal(err)
					}
				}
				if n%1_000_000 == 999_999 {
					b.StopTimer()
					if err := errors.Join(d.Flush(), d.Clear([]*Table{c.table})); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
			rows.Flush()
			if err := errors.Join(rows.Err(), d.Flush()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			rows.Close()
		})
	}
}

// A column of an answer that is one of the events' has its names, also through a subquery, and all 64 bits
// of numbers without a sign; what is computed is SQLite's number.
func TestAnswersKeepTypes(t *testing.T) {
	d, err := OpenWithin(Memory, MemoryLimit)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	name := func(v event.Value) (string, bool) { return "at " + v.String(), true }
	table := &Table{Name: "e", Columns: []Column{{Name: "p", Unsigned: true, Names: name}, {Name: "n"}}}
	if err := d.Create([]*Table{table}, 0); err != nil {
		t.Fatal(err)
	}
	if err := d.exec("INSERT INTO e VALUES(-16, 5)"); err != nil {
		t.Fatal(err)
	}
	f := func(query, want, named string) {
		t.Helper()
		err := d.Query(query, func(a *result.Table) error {
			cell, c := a.Rows[0][0], a.Columns[0]
			text := ""
			if c.Names != nil {
				text, _ = c.Names(cell)
			}
			if cell.String() != want || text != named {
				t.Errorf("%s: got %s, named %q, want %s, named %q", query, cell, text, want, named)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f("SELECT p FROM e", "18446744073709551600", "at 18446744073709551600")
	f("SELECT x.q FROM (SELECT p AS q FROM e) x", "18446744073709551600", "at 18446744073709551600")
	f("SELECT p + 1 FROM e", "-15", "")
	f("SELECT n FROM e", "5", "")
}
