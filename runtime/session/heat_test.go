package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// Files by a value have together the lines of the one without, each those of its value.
func TestHeatFilesByAValue(t *testing.T) {
	dir := t.TempDir()
	run := func(prefix string, by plan.Fn) map[string][]string {
		t.Helper()
		_, _, err := runJSON(t, Config{
			Options: Options{Recording: Recording{Path: withStacks}},
			Reports: []plan.Report{&plan.Heat{In: faults(), Value: plan.Fn{Text: "tid"}, By: by,
				Prefix: filepath.Join(dir, prefix)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, prefix+"-*.lat"))
		lines := map[string][]string{}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(strings.TrimSuffix(path, "lat") + "svg"); err != nil {
				t.Error(err)
			}
			name := strings.TrimSuffix(filepath.Base(path), ".lat")
			value := name[strings.LastIndex(name, "-")+1:]
			lines[value] = strings.Split(strings.TrimSpace(string(text)), "\n")
		}
		return lines
	}
	var all, parts []string
	for _, lines := range run("all", plan.Fn{}) {
		all = append(all, lines...)
	}
	for tid, lines := range run("by", plan.Fn{Text: "tid"}) {
		for _, line := range lines {
			if !strings.HasSuffix(line, " "+tid) {
				t.Errorf("the file of %s has %q", tid, line)
			}
		}
		parts = append(parts, lines...)
	}
	slices.Sort(all)
	slices.Sort(parts)
	if len(all) < 2 || !slices.Equal(all, parts) {
		t.Errorf("got %d lines by thread, want the %d of all", len(parts), len(all))
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
