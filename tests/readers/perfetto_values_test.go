package readers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"

	"github.com/google/pprof/profile"
)

// The numbers of tables are counters that have the value of an interval from its begin on;
// a row that an interval lacks is 0 in it.
func TestPerfettoCountersAreTheTables(t *testing.T) {
	tr, records := play(t, "load.data", "syscalls", "-i", "10ms")
	label := func(r map[string]any) string {
		if title, _ := r["title"].(string); title != "" {
			return title
		}
		return r["name"].(string)
	}
	want, known := map[string][]point{}, []string{}
	for _, r := range records {
		if r["type"] != "table" {
			continue
		}
		begin, now := int64(r["begin"].(float64)), map[string]float64{}
		for _, x := range r["rows"].([]any) {
			row := x.(map[string]any)
			for _, c := range r["columns"].([]any) {
				column := c.(map[string]any)
				name := column["name"].(string)
				v, number := row[name].(float64)
				if column["kind"] != "value" || !number {
					continue
				}
				name = fmt.Sprintf("%s/%v: %s", label(r), row["syscalls_text"], name)
				if now[name] = v; want[name] == nil {
					known = append(known, name)
				}
				want[name] = append(want[name], point{begin, v})
			}
		}
		for _, name := range known {
			if _, is := now[name]; !is {
				want[name] = append(want[name], point{begin, 0})
			}
		}
	}
	got := map[string][]point{}
	for name, points := range tr.series {
		if !strings.HasPrefix(name, "events missing/") {
			got[name] = points
		}
	}
	if len(want) < 50 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %d counters, want %d:\n%.3000v\nwant\n%.3000v", len(got), len(want), fmt.Sprint(got),
			fmt.Sprint(want))
	}
}

// Arrays are arguments with their elements.
func TestPerfettoHasArrays(t *testing.T) {
	tr, records := play(t, "load.data", "trace", "-e", "raw_syscalls:sys_enter")
	n := 0
	for _, r := range records {
		if r["type"] != "event" {
			continue
		}
		want := r["fields"].(map[string]any)["args"].([]any)
		got := strings.Fields(strings.Trim(tr.instants[n].args["args"], "[]"))
		if len(got) != 6 || len(want) != 6 {
			t.Fatalf("event %d: got %s, want %v", n, got, want)
		}
		for i, v := range want {
			// The numbers of JSON were read with 53 bits.
			if x, err := strconv.ParseUint(got[i], 10, 64); err != nil || float64(x) != v {
				t.Fatalf("event %d: got %s, want %v", n, got, want)
			}
		}
		n++
	}
	if n < 1000 || n != len(tr.instants) {
		t.Errorf("got %d instants, want %d", len(tr.instants), n)
	}
}

// The weights of samples add up to the value in the profile of the same run.
func TestPerfettoWeights(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	dir := t.TempDir()
	path, other := filepath.Join(dir, "out.pftrace"), filepath.Join(dir, "out.pb.gz")
	testkit.Run(t, testkit.PPScript(t), "profile", "-F", "500", "-g", "--lines=no", "-o", "/dev/null",
		"--perfetto", path, "--pprof", other, "--", "sh", "-c",
		"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").Want(t, 0)
	tr := readTrace(t, path)
	data, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	var sum, want uint64
	for _, s := range p.Sample {
		want += uint64(s.Value[1]) // the value comes after the number
	}
	for _, n := range tr.counted {
		sum += n
	}
	if len(tr.samples) < 20 || sum != want || tr.timebase == "" {
		t.Errorf("got %d samples of %d %s, want %d", len(tr.samples), sum, tr.timebase, want)
	}
}

// In each engine, the file of a run has as many slices as its table counts, and as a command
// with the same work has.
func TestPerfettoInEachEngine(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	wants := map[string]int64{}
	for _, engine := range []string{"perf", "bpf", "interp"} {
		path := filepath.Join(t.TempDir(), "out.pftrace")
		out := testkit.Run(t, testkit.PPScript(t), "syscalls", "--engine", engine, "--perfetto", path,
			"--format", "json", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000").Want(t, 0)
		table, file := map[string]int64{}, map[string]int64{}
		for _, r := range rows(bodies(t, out.Stdout)) {
			n, _ := r["calls"].(float64)
			table[fmt.Sprint(r["syscalls"])] += int64(n)
		}
		for _, s := range readTrace(t, path).slices {
			file[s.args["start.id"]]++
		}
		if fmt.Sprint(file) != fmt.Sprint(table) || file["1"] < 1000 {
			t.Errorf("%s: the file has %v, the table %v", engine, file, table)
		}
		for id, n := range file {
			if known, is := wants[id]; is && known != n && (id == "0" || id == "1") {
				t.Errorf("%s: %d calls of %s, another engine has %d", engine, n, id, known)
			}
			wants[id] = n
		}
	}
}
