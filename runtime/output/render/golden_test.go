package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

var update = flag.Bool("update", false, "write the golden files")

// checkGolden compares got with testdata/name.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func column(name string, width int, u unit.Unit) result.Column {
	return result.Column{Name: name, Width: width, Unit: u, Prec: result.UnitPrec}
}

func key(name string, width int) result.Column {
	return result.Column{Name: name, Kind: result.KeyColumn, Left: true, Width: width}
}

func meta(name, title string) result.Meta {
	end := event.Time(2206475150600)
	return result.Meta{
		Name:         name,
		Title:        title,
		Seq:          3,
		Begin:        end - 1e9,
		End:          end,
		Wall:         clock(end),
		Samples:      100,
		TotalSamples: 300,
	}
}

// latency is the start => end table, with a share, a loss and omitted rows.
func latency() *result.Table {
	start := key("start", 0)
	start.Left = false
	end := key("end", 0)
	end.Sep = " => "
	than := result.Column{Name: "than", Relation: result.Relation{ShareOf: "calls"}, Alarm: true}
	t := &result.Table{Meta: meta("latency", ""), Omitted: 5, Columns: []result.Column{
		key("pid", 6), start, end, column("calls", 8, unit.Number),
		column("total", 16, unit.US), column("max", 12, unit.US), than,
	}}
	t.Loss = event.Loss{Lost: 12, Unmatched: 3}
	row := func(pid int64, end string, calls, total, max, than int64) []event.Value {
		return []event.Value{event.IntOf(pid), event.StrOf("sched_wakeup"), event.StrOf(end),
			event.IntOf(calls), event.DurationOf(total), event.DurationOf(max), event.IntOf(than)}
	}
	t.Rows = [][]event.Value{
		row(15, "sched_switch", 97, 8218605, 2529015, 2),
		row(4711, "exit", 1, -80, 9007199254740993, 0),
	}
	return t
}

// syscalls has left columns, a column that must grow, empty cells, hex.
func syscalls() *result.Table {
	hex := column("mask", 8, unit.Number)
	hex.Hex = true
	pct := column("%gsys", 6, unit.Number)
	pct.Prec = 2
	t := &result.Table{Meta: meta("syscalls", "syscall latency"), Columns: []result.Column{
		key("comm", 16), key("syscalls", 20), column("calls", 8, unit.Number), column("size", 8, unit.KiB),
		hex, pct, column("err", 6, unit.Number),
	}}
	t.Rows = [][]event.Value{
		{event.StrOf("db"), event.StrOf("futex(202)"), event.IntOf(15), event.IntOf(1536), event.IntOf(255), event.FloatOf(12.345), event.IntOf(0)},
		{event.StrOf("evil\x1b[31m\"x\","), event.StrOf("a_system_call_with_a_long_name(999)"), event.UintOf(1 << 63), event.IntOf(0),
			event.UintOf(1<<64 - 1), event.FloatOf(100), event.Value{}},
		{event.StrOf("日本語"), event.StrOf(""), event.IntOf(7)},
	}
	return t
}

// top is perf-prof's top: no rule, upper-case header.
func top() *result.Table {
	k := key("prev_pid", 8)
	k.Left = false
	t := &result.Table{Meta: meta("top", "sample 82 events"), Columns: []result.Column{
		k, column("sched_switch", 12, unit.Number), key("prev_comm", 0)},
		Layout: result.Layout{NoRule: true, Upper: true}}
	t.Rows = [][]event.Value{
		{event.IntOf(0), event.IntOf(35), event.StrOf("swapper/0")},
		{event.IntOf(3499), event.IntOf(20), event.StrOf("db")},
	}
	return t
}

// lines formats its own rows.
func lines() *result.Table {
	t := &result.Table{
		Meta: meta("oncpu", ""), Columns: []result.Column{key("cpu", 3), column("sum", 0, unit.MS)},
	}
	t.Layout.HeaderText = "CPU SUM(ms) COMM:TID(ms)"
	t.Layout.RowText = func(row []event.Value) string {
		return "00" + row[0].String() + " " + unit.MS.Format(row[1].Float()) + " db:77\x1b[0m"
	}
	t.Rows = [][]event.Value{{event.IntOf(1), event.DurationOf(912e6)}}
	return t
}

func delays() *result.Table {
	m := meta("runqlat", "run queue latency")
	m.Loss = event.Loss{Dropped: 1}
	return result.NewHistogram(m, []result.Column{key("comm", 0), key("cpu", 0)},
		result.Column{Name: "delay", Unit: unit.US}, []result.KeyDistribution{
			{Key: []event.Value{event.StrOf("db"), event.IntOf(1)}, Distribution: buckets(
				result.Bucket{Lo: 0, Hi: 1000, Count: 0}, result.Bucket{Lo: 1000, Hi: 2000, Count: 3},
				result.Bucket{Lo: 2000, Hi: 4000, Count: 120},
				result.Bucket{Lo: 4000, Hi: 8000, Count: 0},
				result.Bucket{Lo: 8000, Hi: 16000, Count: 0},
				result.Bucket{Lo: 16000, Hi: 32000, Count: 60},
				result.Bucket{Lo: 64000, Hi: result.OpenHi, Count: 1},
				result.Bucket{Lo: 1, Hi: 2, Count: 0})},
			{Key: []event.Value{event.StrOf("c\nd"), event.IntOf(0)}, Distribution: buckets(
				result.Bucket{Lo: 1000, Hi: 2000, Count: 1})},
		})
}

func sizes() *result.Table {
	return result.NewHistogram(meta("sizes", ""), nil, result.Column{Name: "n"}, []result.KeyDistribution{
		{Distribution: buckets(result.Bucket{Lo: result.OpenLo, Hi: 0, Count: 1},
			result.Bucket{Lo: 0, Hi: 1, Count: 10}, result.Bucket{Lo: 512, Hi: 1024, Count: 4},
			result.Bucket{Lo: 1024, Hi: 2048, Count: 1000000000})}})
}

func buckets(list ...result.Bucket) result.Distribution { return result.Distribution{Buckets: list} }

// everything writes each shape once.
func everything(t *testing.T, o Options) []byte {
	t.Helper()
	var out bytes.Buffer
	o.Clock, o.Location = clock, time.UTC
	r, err := New(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	schema := wakeupSchema()
	steps := []error{
		r.Note("attached", NoteField{"events", event.IntOf(2)}, NoteField{"what", event.StrOf("sched:*\n")}),
		r.Show(latency()),
		r.Show(syscalls()),
		r.Show(top()),
		r.Show(lines()),
		r.Show(&result.Table{
			Meta: result.Meta{Name: "empty"}, Columns: []result.Column{column("n", 4, unit.Number)},
		}),
		r.Show(delays()),
		r.Show(sizes()),
		r.Show(&result.Line{Event: wakeup(schema, "worker", "db", 0x25|8, 4)}),
		r.Show(&result.Line{
			Event: wakeup(schema, "worker", "a \"b\", c\x1b\n", 0, 0), Marker: 'G', Result: "wakeups",
		}),
		r.Show(&result.Line{Event: titled(wakeup(schema, "worker", "db", 0, 0), "profile")}),
		r.Flush(),
	}
	for i, err := range steps {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	return out.Bytes()
}

func TestGolden(t *testing.T) {
	f := func(name string, o Options) {
		t.Helper()
		checkGolden(t, name, everything(t, o))
	}
	f("all.txt", Options{})
	f("color.txt", Options{Color: "always", Time: "rel", Start: 2206000000000, Width: 40})
	f("all.json", Options{Format: "json"})
	f("all.csv", Options{Format: "csv"})
	f("all.md", Options{Format: "markdown"})
	f("mono.csv", Options{Format: "csv", Time: "mono"})
}
