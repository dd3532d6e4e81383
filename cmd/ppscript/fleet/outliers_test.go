package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
)

// half is added to a number of calls of a machine that saw half of the time.
const half = 1 << 40

// filesOf writes a file of frames for each number: so many calls that machine saw.
func filesOf(t *testing.T, counts []int) (paths []string) {
	for i, n := range counts {
		begin := int64(1)
		if n >= half {
			n, begin = n-half, 5e8
		}
		f := &mergeable.Frame{Host: fmt.Sprintf("host%02d", i), Seq: 1, Begin: begin, End: 1e9, Final: true,
			Results: []mergeable.Result{calls(n)}}
		b := f.Append(nil)
		path := filepath.Join(t.TempDir(), "parts")
		text := append(append([]byte(mergeable.Header), protowire.AppendVarint(nil, uint64(len(b)))...), b...)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// readFiles is what a run over such files shows.
func readFiles(t *testing.T, format string, calls []int) string {
	t.Helper()
	to := &answers{}
	cfg := &session.Config{Messages: func(string) {}}
	cfg.Output = func(func(event.Time) time.Time) (render.Renderer, error) {
		return render.New(to, render.Options{Format: format, Color: "never", Clock: wall})
	}
	a := &Asker{Files: filesOf(t, calls), Outliers: true}
	if _, err := a.Run(context.Background(), &Question{Config: cfg, JSON: format == "json"}); err != nil {
		t.Fatal(err)
	}
	return to.text.String()
}

// The host that differs is named, with the row, the numbers and how likely they are.
func TestOutliersAreNamed(t *testing.T) {
	t.Parallel()
	calls := make([]int, 21)
	for i := range calls {
		calls[i] = 1000 + 10*(i%5) // the median is 1020, and the spread the root of it
	}
	calls[20] = 1800
	text := readFiles(t, "json", calls)
	var note struct {
		Type string
		Data struct {
			Hosts, Differ, Compared int
			Level                   float64
		}
	}
	var table struct {
		Name string
		Data struct {
			Rows []struct {
				Host, Row, Column   string
				Value, Median, Z, P float64
			}
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"type":"outliers"`) {
			if err := json.Unmarshal([]byte(line), &note); err != nil {
				t.Fatal(err)
			}
		} else if strings.Contains(line, `"outliers"`) {
			if err := json.Unmarshal([]byte(line), &table); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d := note.Data; d.Hosts != 21 || d.Differ != 1 || d.Compared != 42 || d.Level != 0.05 {
		t.Errorf("got %+v: %s", note, text)
	}
	if len(table.Data.Rows) != 2 { // the calls, and their sum
		t.Fatalf("got %+v: %s", table, text)
	}
	for _, r := range table.Data.Rows {
		if r.Host != "host20" || r.Row != "db" || r.P > 1e-6 ||
			r.Column == "calls" && (r.Value != 1800 || r.Median != 1020 || r.Z < 24.4 || r.Z > 24.5) {
			t.Errorf("got %+v", r)
		}
	}
	text = readFiles(t, "text", calls)
	for _, part := range []string{"1 of 21 hosts differ (robust z, median and MAD over the other hosts; " +
		"Holm's correction for 42 numbers at 5 %)", "host20", "24.4"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	calls[20] = 1020
	if text = readFiles(t, "text", calls); !strings.Contains(text, "none of 21 hosts differs") {
		t.Errorf("got %s", text)
	}
	if text = readFiles(t, "text", calls[:3]); !strings.Contains(text, "3 hosts are too few") {
		t.Errorf("got %s", text)
	}
}

// A host that saw half of the time has half of the events, which is no finding: it is named, and not
// compared.
func TestUnevenTimesAreNotCompared(t *testing.T) {
	t.Parallel()
	calls := make([]int, 21)
	for i := range calls {
		calls[i] = 1000 + 10*(i%5)
	}
	calls[20] = half + 510
	text := readFiles(t, "text", calls)
	if !strings.Contains(text, "none of 20 hosts differs") ||
		!strings.Contains(text, "not compared, since they saw another length of time: host20") {
		t.Errorf("got %s", text)
	}
	if text = readFiles(t, "json", calls); !strings.Contains(text, `"uneven":["host20"]`) {
		t.Errorf("got %s", text)
	}
}
