package readers

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/output/parquet"
	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

// playParquet runs a profiler over a recording, and returns its Parquet files and
// its JSON.
func playParquet(t *testing.T, recording string, args ...string) (dir string, records []map[string]any) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	out := testkit.Run(t, append([]string{testkit.PPScript(t), args[0], "--input", data(t, recording),
		"--format", "json", "--parquet", dir}, args[1:]...)...).Want(t, 0)
	var whole []map[string]any
	for line := range strings.Lines(out.Stdout) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber() // 64 bits
		var r map[string]any
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		body := r["data"].(map[string]any)
		body["type"] = r["type"]
		whole = append(whole, body)
	}
	return dir, whole
}

// same reports whether a cell of a file equals that of JSON.
func same(got, want any) bool {
	if list, is := want.([]any); is {
		b, _ := json.Marshal(list)
		want = string(b)
	}
	if g, is := got.(float64); is {
		w, err := want.(json.Number).Float64()
		return err == nil && g == w
	}
	return fmt.Sprint(got) == fmt.Sprint(want)
}

// Rows equal the rows of the tables, cell by cell, with the names of numbers; the
// intervals, units and losses are there too.
func TestParquetHasTheTables(t *testing.T) {
	testkit.Requires(t, parquetNeeds...)
	t.Parallel()
	for _, args := range [][]string{
		{"load.data", "syscalls"}, {"load.data", "syscalls", "-i", "10ms"}, {"kvm.data", "kvm-exit"},
		{"load.data", "rundelay", "--perins"}, {"states.data", "oncpu"},
	} {
		dir, records := playParquet(t, args[0], args[1:]...)
		want := map[string][]map[string]any{}
		loss, missing := map[string]map[string]int64{}, 0
		for _, r := range records {
			if r["type"] != "table" {
				continue
			}
			name := r["name"].(string)
			for kind, n := range r["loss"].(map[string]any) {
				if loss[name] == nil {
					loss[name] = map[string]int64{}
				}
				v, _ := n.(json.Number).Int64()
				loss[name][kind] += v
			}
			for _, x := range r["rows"].([]any) {
				row := x.(map[string]any)
				row["seq"], row["begin"], row["end"] = r["seq"], r["begin"], r["end"]
				want[name] = append(want[name], row)
			}
			if want[name] == nil {
				want[name] = []map[string]any{}
			}
		}
		for name, rows := range want {
			f := readParquet(t, filepath.Join(dir, name+".parquet"))
			if len(f.Rows) != len(rows) || len(rows) == 0 {
				t.Fatalf("%v: %s has %d rows, want %d", args, name, len(f.Rows), len(rows))
			}
			for i, row := range rows {
				for key, v := range row {
					got, has := f.Rows[i][key]
					if strings.HasSuffix(key, "_text") && !has {
						continue // durations and shares have a text in JSON alone
					}
					if !same(got, v) {
						missing++
						t.Errorf("%v: %s: %s of row %d: got %v, want %v", args, name, key, i, got, v)
					}
				}
			}
			var told map[string]int64
			if err := json.Unmarshal([]byte(f.note("loss")), &told); err != nil {
				t.Fatal(err)
			}
			if len(told)+len(loss[name]) > 0 && fmt.Sprint(told) != fmt.Sprint(loss[name]) {
				t.Errorf("%v: %s tells of losses %v, want %v", args, name, told, loss[name])
			}
			if f.column("wall") != "INT64 TIMESTAMP" || f.note("result") != name {
				t.Errorf("%v: wall is %s, the result is %q", args, f.column("wall"), f.note("result"))
			}
		}
	}
}

// Each event is a row with its fields, those of all kinds in one file.
func TestParquetHasEachEvent(t *testing.T) {
	testkit.Requires(t, parquetNeeds...)
	t.Parallel()
	dir, records := playParquet(t, "load.data", "trace", "-e", "raw_syscalls:*,kmem:kmalloc,sched:*")
	f := readParquet(t, filepath.Join(dir, "log.parquet"))
	n := 0
	for _, r := range records {
		if r["type"] != "event" {
			continue
		}
		got := f.Rows[n]
		for _, key := range []string{"time", "comm", "pid", "tid", "cpu", "event"} {
			if !same(got[key], r[key]) {
				t.Fatalf("event %d: %s is %v, want %v", n, key, got[key], r[key])
			}
		}
		for key, v := range r["fields"].(map[string]any) {
			if key == "comm" || key == "pid" {
				key += "_2" // a field of the event has this name
			}
			if !same(got[key], v) {
				t.Fatalf("event %d, %v: field %s is %v, want %v", n, r["event"], key, got[key], v)
			}
		}
		if r["event"] == "sched:sched_switch" && !strings.Contains(r["text"].(string),
			fmt.Sprintf("prev_state=%v ", got["prev_state_text"])) {
			t.Fatalf("event %d: the state is %v in %s", n, got["prev_state_text"], r["text"])
		}
		n++
	}
	if n < 1000 || n != len(f.Rows) {
		t.Errorf("got %d rows, want %d", len(f.Rows), n)
	}
}

// Histograms have a row for each bucket, stacks one for each stack.
func TestParquetHasHistogramsAndStacks(t *testing.T) {
	testkit.Requires(t, parquetNeeds...)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	script := filepath.Join(t.TempDir(), "a.star")
	if err := os.WriteFile(script, []byte(`
def main(o):
    calls = join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "tid")
    return [calls.by(id = "start.id").hist("delay")]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	fold := filepath.Join(t.TempDir(), "a.folded")
	out := testkit.Run(t, testkit.PPScript(t), script, "--input", data(t, "load.data"), "--format", "json",
		"--parquet", dir).Want(t, 0)
	want := map[string]int64{}
	for _, r := range bodies(t, out.Stdout) {
		if r["type"] != "histogram" {
			continue
		}
		for _, x := range r["rows"].([]any) {
			row := x.(map[string]any)
			for _, b := range row["buckets"].([]any) {
				id := row["key"].(map[string]any)["id"]
				b := b.([]any)
				if b[2].(float64) > 0 {
					want[fmt.Sprintf("%v from %d", id, int64(b[0].(float64)))] += int64(b[2].(float64))
				}
			}
		}
	}
	got := map[string]int64{}
	f := readParquet(t, filepath.Join(dir, "histogram.parquet"))
	for _, r := range f.Rows {
		var n int64
		fmt.Sscan(r["count"].(string), &n)
		if n > 0 {
			got[fmt.Sprintf("%v from %v", r["id"], r["lo"])] += n
		}
	}
	if len(want) < 10 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}

	script = filepath.Join(t.TempDir(), "b.star")
	if err := os.WriteFile(script, []byte(`
def main(o):
    return [software("page-faults").stacks()]
`), 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, testkit.PPScript(t), script, "--input", data(t, "stacks.data"), "--lines=no",
		"-o", "/dev/null", "--parquet", dir, "--flame-graph", fold).Want(t, 0)
	f = readParquet(t, filepath.Join(dir, "stacks.parquet"))
	sum, total, _ := folded(t, fold)
	gotTotal, n := map[string]int64{}, int64(0)
	for _, r := range f.Rows {
		var count int64
		fmt.Sscan(r["count"].(string), &count)
		n += count
		seen := map[string]bool{}
		for name := range strings.SplitSeq(fmt.Sprint(r["comm"])+";"+r["stack"].(string), ";") {
			if !seen[name] {
				gotTotal[name] += count
			}
			seen[name] = true
		}
	}
	if n != sum || fmt.Sprint(gotTotal) != fmt.Sprint(total) {
		t.Errorf("got %d of %v\nwant %d of %v", n, gotTotal, sum, total)
	}
}

// A reader finds all values, in any order: values of another type are in an extra column,
// columns that come late are in all row groups, and bounds follow the order of the type.
func TestParquetKeepsStrangeValues(t *testing.T) {
	testkit.Requires(t, parquetNeeds...)
	t.Parallel()
	dir := t.TempDir()
	s, err := parquet.Opener(dir).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wall := func(at event.Time) time.Time { return time.UnixMilli(1_700_000_000_000).Add(time.Duration(at)) }
	if err := s.Begin(output.About{Script: "s", Clock: wall}); err != nil {
		t.Fatal(err)
	}
	show := func(columns string, rows ...[]event.Value) {
		t.Helper()
		x := &result.Table{Rows: rows}
		x.Name = "a"
		for name := range strings.FieldsSeq(columns) {
			x.Columns = append(x.Columns, result.Column{Name: name})
		}
		if err := s.Show(x); err != nil {
			t.Fatal(err)
		}
	}
	show("v seq when", // seq is already the name of a column
		[]event.Value{event.IntOf(-3), event.StrOf("a\xffb"), event.TimeOf(5e9)},
		[]event.Value{event.UintOf(math.MaxUint64), event.StrOf("\n"), {}},
		[]event.Value{event.StrOf("text"), event.StrOf(""), {}},
		[]event.Value{event.BoolOf(true), event.ListOf(event.IntOf(1), event.StrOf("x")), {}})
	many := make([][]event.Value, 70_000) // the next group
	for i := range many {
		many[i] = []event.Value{event.UintOf(uint64(i))}
	}
	show("big", many...)
	show("big late", []event.Value{event.UintOf(1 << 63), event.FloatOf(1.5)},
		[]event.Value{event.IntOf(-1), event.IntOf(2)})
	show("real", []event.Value{event.FloatOf(-0.5)}, []event.Value{event.FloatOf(1e300)},
		[]event.Value{event.FloatOf(math.NaN())})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f := readParquet(t, filepath.Join(dir, "a.parquet"))
	if len(f.Rows) != 70_009 || f.Groups != 2 {
		t.Fatalf("got %d rows in %d groups, want 70009 in 2", len(f.Rows), f.Groups)
	}
	at := func(row int, names string) string {
		texts := []string{}
		for name := range strings.FieldsSeq(names) {
			texts = append(texts, fmt.Sprintf("%q", fmt.Sprint(f.Rows[row][name])))
		}
		return strings.Join(texts, " ")
	}
	nothing := `"<nil>"`
	for _, x := range []struct {
		row         int
		names, want string
	}{
		{0, "v v_2 seq_2 when", `"-3" "<nil>" "a\\xffb" "2023-11-14T22:13:25.000Z"`},
		{1, "v v_2 seq_2 when", nothing + ` "18446744073709551615" "\n" ` + nothing},
		{2, "v v_2 v_3 seq_2", nothing + " " + nothing + ` "text" ""`},
		{3, "v v_3 v_4 seq_2", nothing + " " + nothing + ` "true" "[1,\"x\"]"`},
		{4, "v big late", nothing + ` "0" ` + nothing},
		{70_003, "v big late", nothing + ` "69999" ` + nothing},
		{70_004, "big late big_2", `"9223372036854775808" "1.5" ` + nothing},
		{70_005, "big late big_2", nothing + ` "2" "-1"`},
		{70_006, "real", `"-0.5"`}, {70_007, "real", `"1e+300"`}, {70_008, "real", nothing}, // JSON has no NaN
	} {
		if got := at(x.row, x.names); got != x.want {
			t.Errorf("row %d: %s: got %s, want %s", x.row, x.names, got, x.want)
		}
	}
	for name, want := range map[string]string{
		"v": "INT64", "v_2": "INT64 INTEGER", "v_3": "BYTE_ARRAY STRING", "v_4": "BOOLEAN",
		"big": "INT64 INTEGER", "big_2": "INT64", "late": "DOUBLE",
		"when": "INT64 TIMESTAMP",
	} {
		if got := f.column(name); got != want {
			t.Errorf("column %s: got %s, want %s", name, got, want)
		}
	}
	if got := fmt.Sprint(f.Bounds["v"], f.Bounds["big"], f.Bounds["big_2"]); got !=
		"[[-3 -3]] [[0 65531] [65532 9223372036854775808]] [[-1 -1]]" {
		t.Errorf("got bounds %s", got)
	}
}
