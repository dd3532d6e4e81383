package picture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// waited is a span that waited so many ns for a disk.
func waited(from, ns event.Time) *result.Why {
	db := result.WhyTask{TID: 7, PID: 7, Comm: "db"}
	disk := result.WhyLink{Task: db, Kind: result.WhyDisk, What: "vda read; device"}
	cause := disk
	cause.Task = result.WhyTask{Comm: "db"}
	sum := result.WhySpans{Spans: 1, NS: int64(ns)}
	return &result.Why{Name: "why", Slow: sum,
		Causes: []result.WhyCause{{Path: []result.WhyLink{cause}, Slow: sum}},
		Slowest: []*result.WhySpan{{Label: "read", Task: db, From: from, To: from + ns,
			Parts: []result.WhyPart{{From: from, To: from + ns, Path: []result.WhyLink{disk}}}}}}
}

// A file shows all intervals of a run as one.
func TestWhyFilesAreOfTheRun(t *testing.T) {
	folded := filepath.Join(t.TempDir(), "why.folded")
	var p Why
	if err := p.Open(t.Context(), folded, FlameGraph, ""); err != nil {
		t.Fatal(err)
	}
	for i := range event.Time(3) {
		p.Add(waited(1000*i, 100+i))
	}
	told := ""
	if err := p.Close("", true, func(path, advice string) { told += path }); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(folded)
	if want := "read;disk vda read: device 303\n"; err != nil || string(got) != want || told != folded {
		t.Errorf("got %q, %v, told %q, want %q", got, err, told, want)
	}
}

// A run in which nothing was slow has a picture that says so; one that did not begin has none.
func TestWhyFilesWithoutSpans(t *testing.T) {
	f := func(ran bool) (string, error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "why.svg")
		var p Why
		if err := p.Open(t.Context(), path, FlameGraph, ""); err != nil {
			t.Fatal(err)
		}
		if err := p.Close("", ran, func(string, string) {}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		return string(text), err
	}
	if text, err := f(true); err != nil || !strings.Contains(text, "<svg") {
		t.Errorf("without slow spans: got %v, want a picture", err)
	}
	if _, err := f(false); !os.IsNotExist(err) {
		t.Errorf("nothing ran: got %v, want no file", err)
	}
}
