package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ppscript/runtime/plan"
	"ppscript/runtime/text/diag"
)

// The picture counts the values that the file beside it lists, and earlier
// files are kept.
func TestHeatFiles(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "x")
	run := func() (lat, svg []byte) {
		t.Helper()
		lines, _, err := runJSON(t, Config{
			Options: Options{Recording: Recording{Path: withStacks}},
			Reports: []plan.Report{&plan.Heat{In: faults(), Value: plan.Fn{Text: "period"}, Prefix: prefix}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != 0 {
			t.Errorf("got output %v, want none", lines)
		}
		files, _ := filepath.Glob(prefix + "-*.lat")
		if len(files) != 1 {
			t.Fatalf("got files %v, want one", files)
		}
		if lat, err = os.ReadFile(files[0]); err != nil {
			t.Fatal(err)
		}
		if svg, err = os.ReadFile(files[0][:len(files[0])-len("lat")] + "svg"); err != nil {
			t.Fatal(err)
		}
		return lat, svg
	}
	lat, svg := run()
	rows := bytes.Split(bytes.TrimSpace(lat), []byte("\n"))
	for _, r := range rows {
		at, value, ok := bytes.Cut(r, []byte(" "))
		if n, err := strconv.ParseInt(string(at), 10, 64); !ok || err != nil || n <= 0 {
			t.Fatalf("got line %q, want a time and a number", r)
		}
		if n, err := strconv.ParseInt(string(value), 10, 64); err != nil || n <= 0 {
			t.Fatalf("got line %q, want a period", r)
		}
	}
	if want := fmt.Sprintf(">%d values of period;", len(rows)); !bytes.Contains(svg, []byte(want)) {
		t.Errorf("the picture does not say %q", want)
	}
	run()
	for _, old := range []string{".lat.old", ".svg.old"} {
		if files, _ := filepath.Glob(prefix + "-*" + old); len(files) != 1 {
			t.Errorf("got %v, want the earlier file kept as %s", files, old)
		}
	}
}

func TestHeatCannotBeWritten(t *testing.T) {
	_, _, err := runJSON(t, Config{Options: Options{Recording: Recording{Path: withStacks}},
		Reports: []plan.Report{&plan.Heat{
			In: faults(), Value: plan.Fn{Text: "period"}, Prefix: "/nonexistent/x",
		}}})
	if diag.HintOf(err) == "" {
		t.Errorf("got error %v, want one with a hint before anything runs", err)
	}
}
