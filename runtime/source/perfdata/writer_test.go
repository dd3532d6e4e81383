package perfdata

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"

	"ppscript/tests/testkit"
)

// copyRecording writes the records of f to path, a round for each Poll.
func copyRecording(t testing.TB, f *File, path string, opt WriteOptions) {
	t.Helper()
	opt.Info = f.Info()
	w, err := Create(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.StreamInfos() {
		if err := w.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	dst := make([]event.Event, 64)
	for err == nil {
		err = f.Poll(context.Background(), time.Second)
		for _, r := range f.Rings() {
			_, visible := r.Bounds()
			for r.Pos() < visible {
				for _, e := range dst[:r.Read(dst, visible)] {
					if err := w.Write(e.Rec); err != nil {
						t.Fatal(err)
					}
				}
				r.Release()
			}
		}
		if err := w.FinishedRound(); err != nil {
			t.Fatal(err)
		}
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWriteRead checks that written records are read again unchanged.
func TestWriteRead(t *testing.T) {
	for _, name := range recordings {
		for _, compress := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "copy.data")
			src := open(t, name, Options{})
			copyRecording(t, src, path, WriteOptions{Compress: compress})
			orig := open(t, name, Options{})
			defer orig.Close()
			again, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			want, got := all(t, orig)[0], all(t, again)[0]
			if len(got) != len(want) || len(got) == 0 {
				t.Fatalf("%s: got %d events, want %d", name, len(got), len(want))
			}
			for i := range want {
				if !bytes.Equal(got[i].Rec, want[i].Rec) {
					t.Fatalf("%s: event %d differs", name, i)
				}
			}
			for i, s := range orig.Streams() {
				a := again.Streams()[i]
				if a.Label != s.Label || a.Schema.FullName() != s.Schema.FullName() ||
					!reflect.DeepEqual(layout(a.Schema.Fields), layout(s.Schema.Fields)) {
					t.Errorf("%s: stream %d: got %s with %v, want %s with %v", name, i, a.Label,
						a.Schema.Fields, s.Label, s.Schema.Fields)
				}
			}
			a, b := *again.Info(), *orig.Info()
			if b.FirstSample == 0 { // perf does not know, we do
				a.FirstSample, a.LastSample = 0, 0
			}
			a.Pipe, a.Compressed, b.Pipe, b.Compressed = false, false, false, false
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%s: got %+v, want %+v", name, a, b)
			}
			if again.Info().Compressed != compress || len(again.Warnings()) > 0 {
				t.Errorf("%s: got Compressed %v and warnings %q", name,
					again.Info().Compressed, again.Warnings())
			}
			if again.Info().FirstSample == 0 {
				t.Errorf("%s: no time of the first sample", name)
			}
		}
	}
}

// runPerf runs perf and returns its standard output.
func runPerf(t *testing.T, args ...string) string {
	t.Helper()
	testkit.Requires(t, testkit.Perf)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "perf", args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("perf %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if !strings.Contains(line, "not valid for") && strings.TrimSpace(line) != "" {
			t.Logf("perf: %s", line)
		}
	}
	return out.String()
}

// TestPerfReadsWhatIsWritten checks that perf script prints our files as it prints the recordings
// that they were made of.
func TestPerfReadsWhatIsWritten(t *testing.T) {
	for _, name := range recordings {
		for _, compress := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "copy.data")
			src := open(t, name, Options{})
			copyRecording(t, src, path, WriteOptions{Compress: compress})
			src.Close()
			fields := "comm,pid,tid,cpu,time,event,trace"
			switch name {
			case "stacks":
				fields = "comm,pid,tid,time,period,event,ip"
			case "cpus":
				fields = "comm,pid,tid,cpu,time,event"
			case "group": // perf uses the leader's record for all events of the group
				fields = "comm,pid,tid,cpu,time,period,event,ip"
			}
			orig := filepath.Join(dataDir, name+".data")
			want := squeeze(runPerf(t, "script", "-i", orig, "--ns", "-F", fields))
			got := squeeze(runPerf(t, "script", "-i", path, "--ns", "-F", fields))
			compare(t, name, got, want)
			if len(want) != len(goldenLines(t, name)) {
				t.Errorf("%s: perf script printed %d samples, used to print %d", name, len(want),
					len(goldenLines(t, name)))
			}
			if report := runPerf(t, "report", "-i", path, "--stdio", "--sort",
				"comm"); !strings.Contains(report, "sh") {
				t.Errorf("%s: perf report does not name sh:\n%s", name, report)
			}
			head := runPerf(t, "report", "-i", path, "--header-only")
			for _, want := range []string{
				"hostname : testhost", "nrcpus online : 2", "arch : x86_64", "cmdline : /usr/bin/perf",
			} {
				if !strings.Contains(head, want) {
					t.Errorf("%s: header without %q:\n%s", name, want, head)
				}
			}
		}
	}
}

// TestSynthesize checks that processes that ran before have their names and mappings.
func TestSynthesize(t *testing.T) {
	src := open(t, "trace", Options{})
	defer src.Close()
	path := filepath.Join(t.TempDir(), "synth.data")
	w, err := Create(path, WriteOptions{Version: "1.0", Cmdline: []string{"ppscript", "record"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range src.StreamInfos() {
		if err := w.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Synthesize([]int{os.Getpid(), 1 << 30}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var names, maps []string
	for _, r := range all(t, f) {
		for i := range r {
			e := &r[i]
			if e.Time != 0 {
				t.Errorf("record of kind %d: time: got %d, want 0", e.Kind, e.Time)
			}
			c, m := synthesized(e)
			names, maps = append(names, c...), append(maps, m...)
		}
	}
	if !slices.Contains(names, strings.TrimSpace(string(comm))) {
		t.Errorf("comms: got %q, want %q", names, comm)
	}
	if !slices.Contains(maps, exe) {
		t.Errorf("mappings: got %q, want %q", maps, exe)
	}
	if in := f.Info(); in.Version != "1.0" || len(in.Cmdline) != 2 || in.Hostname == "" ||
		in.CPUsOnline == 0 {
		t.Errorf("got %+v", *in)
	}
}

// A recording that was not finished can be read, with a warning.
func TestUnfinishedWriter(t *testing.T) {
	src := open(t, "trace", Options{})
	path := filepath.Join(t.TempDir(), "x.data")
	w, err := Create(path, WriteOptions{Info: src.Info()})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range src.StreamInfos() {
		if err := w.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	events := all(t, src)[0]
	for _, e := range events {
		if err := w.Write(e.Rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.to.out.Flush(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := all(t, f)[0]; len(got) != len(events) || f.Loss().EndedEarly == 0 {
		t.Errorf("got %d events and loss %+v, want %d and ended early", len(got), f.Loss(), len(events))
	}
	w.Finish()
}

func TestWriteErrors(t *testing.T) {
	if _, err := Create(filepath.Join(t.TempDir(), "no", "x"), WriteOptions{}); !isClear(err) {
		t.Errorf("no directory: got %v", err)
	}
	w, err := Create(filepath.Join(t.TempDir(), "x"), WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Finish()
	src := open(t, "trace", Options{})
	defer src.Close()
	infos := src.StreamInfos()
	if err := w.Add(infos[0]); err != nil {
		t.Fatal(err)
	}
	infos[1].Attr.Sample_type = 0
	if err := w.Add(infos[1]); err == nil {
		t.Error("added an event whose samples cannot be told apart")
	}
	for _, rec := range [][]byte{nil, make([]byte, 8), {9, 0, 0, 0, 0, 0, 16, 0}, {68, 0, 0, 0, 0, 0, 8, 0}} {
		if err := w.Write(rec); err == nil || diag.ClassOf(err) != diag.Run {
			t.Errorf("record % x: got %v, want an error", rec, err)
		}
	}
}

func TestWriteAllocatesNothing(t *testing.T) {
	src := open(t, "trace", Options{})
	defer src.Close()
	w, err := Create(filepath.Join(t.TempDir(), "x"), WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Finish()
	for _, s := range src.StreamInfos() {
		if err := w.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	rec := all(t, src)[0][20].Rec
	w.Write(rec)
	if n := testing.AllocsPerRun(100, func() { w.Write(rec) }); n != 0 {
		t.Errorf("got %v allocations for a Write, want 0", n)
	}
}

// layout is fields without the functions that show them, which cannot be compared.
func layout(fields []event.Field) []event.Field {
	fields = slices.Clone(fields)
	for i := range fields {
		fields[i].Shown = nil
	}
	return fields
}
