package symbols

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// In a recording, each instruction of a function has the share that perf annotate shows (its
// disassembler is binutils'), and the lines are those of the source. Live, most samples are in the
// same line.
func TestAnnotateEqualsPerf(t *testing.T) {
	testkit.Requires(t, testkit.Perf)
	p := build(t)
	program := filepath.Join(p.full, "deep/some.bin")
	data := filepath.Join(t.TempDir(), "perf.data")
	testkit.Run(t, "perf", "record", "-q", "-F", "1999", "-e", "cpu-clock", "-o", data, program).Want(t, 0)
	want := perfAnnotates(t, data, "burn_much")
	ours := testkit.Run(t, testkit.PPScript(t), "annotate", "burn_much", "--format", "json", "--input", data)
	rows := tableOf(t, ours.Want(t, 0).Stdout)
	if len(rows) != len(want) || len(rows) == 0 {
		t.Fatalf("got %d instructions, want the %d of perf", len(rows), len(want))
	}
	source, err := os.ReadFile("testdata/burn.c")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(string(source), "\n")
	hot, at := int64(0), ""
	for _, r := range rows {
		addr := uint64(r.Int(t, "address"))
		w, ok := want[addr]
		if share := r.Float(t, "share"); !ok || math.Abs(share-w.share) > 0.0051 {
			t.Errorf("%#x %v: got %.2f %%, want perf's %+v", addr, r["code"], share, w)
		}
		// Both have the same names of instructions, except for suffixes of sizes:
		// ret and retq.
		code := strings.Fields(r.Text(t, "code"))[0]
		if !strings.HasPrefix(code, w.name) && !strings.HasPrefix(w.name, code) {
			t.Errorf("%#x: got %s, want %s", addr, code, w.name)
		}
		file, number, _ := strings.Cut(r.Text(t, "line"), ":")
		n, err := strconv.Atoi(number)
		if err != nil || filepath.Base(file) != "burn.c" || n < 1 || r["source"] != tabless(text[n-1]) {
			t.Errorf("%#x: got line %v with %q, want one of burn.c", addr, r["line"], r["source"])
		}
		if samples := r.Int(t, "samples"); samples > hot {
			hot, at = samples, r.Text(t, "line")
		}
	}

	live := testkit.Run(t, testkit.PPScript(t), "annotate", "burn_m*", "--by", "line", "--format", "json",
		"--", program).Want(t, 0)
	hot = 0
	lines := map[string]int64{}
	for _, r := range tableOf(t, live.Stdout) {
		lines[r.Text(t, "line")] += r.Int(t, "samples")
		hot = max(hot, r.Int(t, "samples"))
	}
	if hot == 0 || lines[at] < hot/2 {
		t.Errorf("got lines %v, want most samples near %s", lines, at)
	}
}

// A function without samples is an error that names functions with samples.
func TestAnnotateOthers(t *testing.T) {
	p := build(t)
	program := filepath.Join(p.full, "deep/some.bin")
	r := testkit.Run(t, testkit.PPScript(t), "annotate", "no_such", "--", program)
	if r.Exit == 0 || !strings.Contains(r.Stderr, "burn_much") {
		t.Errorf("got status %d and %q, want an error that names burn_much", r.Exit, r.Stderr)
	}
}

func tabless(line string) string { return strings.ReplaceAll(line, "\t", "    ") }

func tableOf(t *testing.T, output string) []testkit.Row {
	t.Helper()
	tables := testkit.Tables(t, output)
	if len(tables) != 1 {
		t.Fatalf("got %d tables, want one", len(tables))
	}
	return tables[0].Rows
}

// annotated is perf's line about an instruction.
type annotated struct {
	share float64 // percent
	name  string
}

// perfAnnotates returns perf annotate's output for a function, by address.
func perfAnnotates(t *testing.T, data, function string) map[uint64]annotated {
	t.Helper()
	out := testkit.Run(t, "perf", "annotate", "--stdio", "-i", data, function).Want(t, 0).Stdout
	by := map[uint64]annotated{}
	line := regexp.MustCompile(`(?m)^ +(\d+\.\d+) +: +([0-9a-f]+): +(\S+)`)
	for _, m := range line.FindAllStringSubmatch(out, -1) {
		share, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		addr, err := strconv.ParseUint(m[2], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		by[addr] = annotated{share, m[3]}
	}
	return by
}
