package perfdata

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/event/eventtest"
)

const dataDir = "../../../tests/data"

// recordings are the captures in tests/data; README.md there says how they
// were made.
var recordings = []string{"trace", "pipe", "zstd", "stacks", "cpus", "group"}

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dataDir, name+".data"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, name string, opt Options) *File {
	t.Helper()
	f, err := Open(filepath.Join(dataDir, name+".data"), opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSource(t *testing.T) {
	for _, name := range recordings {
		for _, ordered := range []bool{false, true} {
			mode := map[bool]string{false: "file order", true: "time order"}[ordered]
			t.Run(name+" in "+mode, func(t *testing.T) {
				eventtest.Run(t, eventtest.Suite{
					Open: func(t *testing.T) event.Source {
						return open(t, name, Options{Ordered: ordered})
					},
					Repeatable: true,
					Unordered:  !ordered,
					Least:      10,
				})
			})
		}
	}
}

// A pipe delivers in pieces of any size.
func TestSourceFromPipe(t *testing.T) {
	b := load(t, "pipe")
	for _, ordered := range []bool{false, true} {
		eventtest.Run(t, eventtest.Suite{
			Open: func(t *testing.T) event.Source {
				f, err := OpenReader(context.Background(), &slowReader{b: b, step: 777}, "pipe",
					Options{Ordered: ordered})
				if err != nil {
					t.Fatal(err)
				}
				return f
			},
			Repeatable: true,
			Unordered:  !ordered,
			Least:      10,
		})
	}
}

// slowReader gives step bytes at a time.
type slowReader struct {
	b    []byte
	step int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.step)], r.b)
	r.b = r.b[n:]
	return n, nil
}

// all reads a source to its end and returns copies of its events by ring.
func all(t testing.TB, f *File) (rings [][]event.Event) {
	t.Helper()
	rings, err := drain(f)
	if err != io.EOF {
		t.Fatal(err)
	}
	return rings
}

func drain(f *File) (rings [][]event.Event, err error) {
	dst := make([]event.Event, 100)
	for err == nil {
		err = f.Poll(context.Background(), time.Second)
		for i, r := range f.Rings() {
			if i == len(rings) {
				rings = append(rings, nil)
			}
			_, visible := r.Bounds()
			for r.Pos() < visible {
				for _, e := range dst[:r.Read(dst, visible)] {
					var keep event.Event
					e.Keep(&keep)
					rings[i] = append(rings[i], keep)
				}
				r.Release()
			}
		}
	}
	return rings, err
}

// Poll of a pipe without data respects the timeout, and reading continues
// later.
func TestPollWaitsForPipe(t *testing.T) {
	b := load(t, "pipe")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	half := len(b) - 1000
	wrote := make(chan error, 1)
	go func() {
		_, err := w.Write(b[:half])
		wrote <- err
	}()
	f, err := OpenReader(context.Background(), r, "pipe", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx := context.Background()
	ring := f.Rings()[0]
	var before uint64
	for {
		if err := f.Poll(ctx, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		_, visible := ring.Bounds()
		if visible == before && len(wrote) == 1 {
			break
		}
		before = visible
	}
	if before == 0 {
		t.Fatal("nothing visible of the first half")
	}
	if _, err := w.Write(b[half:]); err != nil {
		t.Fatal(err)
	}
	w.Close()
	got := 0
	for _, e := range all(t, f)[0] {
		if e.Kind == event.Sample {
			got++
		}
	}
	want := 0
	for _, line := range goldenLines(t, "pipe") {
		if len(line) > 0 {
			want++
		}
	}
	if got != want {
		t.Errorf("got %d samples, want %d", got, want)
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		f := open(t, "trace", Options{Ordered: ordered})
		defer f.Close()
		for f.Poll(context.Background(), time.Second) == nil {
		}
		dst := make([]event.Event, 2)
		r := f.Rings()[0]
		_, visible := r.Bounds()
		if n := testing.AllocsPerRun(50, func() {
			r.Read(dst, visible)
			r.Release()
		}); n != 0 {
			t.Errorf("ordered %v: got %v allocations for a Read, want 0", ordered, n)
		}
	}
}

func TestInfo(t *testing.T) {
	for _, name := range recordings {
		f := open(t, name, Options{})
		all(t, f)
		in := f.Info()
		if in.Hostname != "testhost" || in.OSRelease != "6.18.0-testing-" || in.Arch != "x86_64" ||
			in.CPUsOnline != 2 || in.CPUsAvail != 2 || in.Version != "6.1.192" {
			t.Errorf("%s: got %+v", name, *in)
		}
		if len(in.Cmdline) < 2 || in.Cmdline[0] != "/usr/bin/perf" || in.Cmdline[1] != "record" {
			t.Errorf("%s: Cmdline: got %q", name, in.Cmdline)
		}
		if in.Pipe != (name == "pipe") || in.Compressed != (name == "zstd") {
			t.Errorf("%s: got Pipe %v, Compressed %v", name, in.Pipe, in.Compressed)
		}
		// perf does not look into compressed data.
		if name != "pipe" && name != "zstd" && (in.FirstSample == 0 || in.LastSample <= in.FirstSample) {
			t.Errorf("%s: got samples from %d to %d", name, in.FirstSample, in.LastSample)
		}
		if in.PageSize != 4096 && name != "stacks" {
			t.Errorf("%s: PageSize: got %d, want 4096", name, in.PageSize)
		}
		if w := f.Warnings(); len(w) > 0 &&
			(name != "group" || len(w) > 1 || !strings.Contains(w[0], "was counted, not sampled")) {
			t.Errorf("%s: warnings: %q", name, w)
		}
		if !f.Loss().Zero() {
			t.Errorf("%s: loss: %+v", name, f.Loss())
		}
		f.Close()
	}
}

func TestBuildIDs(t *testing.T) {
	f := open(t, "stacks", Options{})
	defer f.Close()
	paths := map[string]int{}
	for _, b := range f.Info().BuildIDs {
		paths[filepath.Base(b.Path)] = len(b.ID)
	}
	if paths["libc.so.6"] != 20 {
		t.Errorf("got %v, want 20 bytes of libc.so.6", paths)
	}
}

func TestLabels(t *testing.T) {
	want := map[string][]string{
		"trace": {
			"sched:sched_switch", "sched:sched_wakeup", "raw_syscalls:sys_enter",
			"raw_syscalls:sys_exit",
		},
		"pipe": {
			"sched:sched_switch", "sched:sched_wakeup", "raw_syscalls:sys_enter",
			"raw_syscalls:sys_exit",
		},
		"stacks": {"page-faults", "task-clock/period=200000/u", "context-switches"},
		"cpus":   {"sched:sched_process_exec", "sched:sched_process_exit", "sched:sched_migrate_task", "cs"},
	}
	for name, labels := range want {
		f := open(t, name, Options{})
		for i, s := range f.Streams() {
			if i >= len(labels) || s.Label != labels[i] {
				t.Errorf("%s: stream %d: got %q, want %q", name, i, s.Label, labels)
			}
			if s.Schema.System == "sched" && s.Schema.FullName() != s.Label {
				t.Errorf("%s: stream %d: got schema %s, want %s", name, i, s.Schema.FullName(), s.Label)
			}
		}
		f.Close()
	}
}

// The recording of a pipe that was put into a file reads like the pipe.
func TestPipeInFileEqualsPipe(t *testing.T) {
	file := all(t, open(t, "pipe", Options{}))
	f, err := OpenReader(context.Background(), bytes.NewReader(load(t, "pipe")), "pipe", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pipe := all(t, f)
	if len(file[0]) != len(pipe[0]) || len(pipe[0]) == 0 {
		t.Fatalf("got %d events from the pipe, %d from the file", len(pipe[0]), len(file[0]))
	}
	for i := range pipe[0] {
		if !bytes.Equal(pipe[0][i].Rec, file[0][i].Rec) {
			t.Fatalf("event %d differs", i)
		}
	}
}

// TestCompressed2 checks that newer perf writes COMPRESSED2, which has the size of its payload and
// padding.
func TestCompressed2(t *testing.T) {
	b := load(t, "zstd")
	off, size := le.Uint64(b[40:]), le.Uint64(b[48:])
	out := bytes.Clone(b[:off])
	le.PutUint64(out[48:], 0)
	records := 0
	for data := b[off : off+size]; len(data) > 0; {
		n := int(le.Uint16(data[6:]))
		rec := data[:n]
		data = data[n:]
		if le.Uint32(rec) != recCompressed {
			out = append(out, rec...)
			continue
		}
		records++
		body := le.AppendUint64(nil, uint64(n-recHeaderSize))
		body = append(body, rec[recHeaderSize:]...)
		body = append(body, make([]byte, -len(body)&7)...)
		out = append(append(out, header(recCompressed2, 0, uint16(recHeaderSize+len(body)))...), body...)
	}
	f := openBytes(t, out, Options{})
	defer f.Close()
	if got, want := numSamples(all(t, f)), len(goldenLines(t, "zstd")); got != want || records == 0 {
		t.Errorf("got %d samples of %d records, want %d", got, records, want)
	}
}

// A long recording is not kept in our memory.
func TestMemoryOfLongRecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.data")
	if err := os.WriteFile(path, enlarge(t, "trace", 700_000), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, ordered := range []bool{false, true} {
		f, err := Open(path, Options{Ordered: ordered})
		if err != nil {
			t.Fatal(err)
		}
		before := mappedKB(t)
		n, peak := 0, 0
		dst := make([]event.Event, 256)
		for polls := 0; err == nil; polls++ {
			err = f.Poll(context.Background(), 0)
			for _, r := range f.Rings() {
				_, visible := r.Bounds()
				for r.Pos() < visible {
					n += r.Read(dst, visible)
					r.Release()
				}
			}
			if polls%64 == 0 {
				peak = max(peak, mappedKB(t)-before)
			}
		}
		if n < 700_000 {
			t.Errorf("ordered %v: got %d events", ordered, n)
		}
		if limit := int(st.Size()) * 3 / 4 >> 10; peak > limit || peak < 1000 {
			t.Errorf("ordered %v: got %d KB of the file in memory, want at most %d of %d", ordered, peak,
				limit, st.Size()>>10)
		}
		f.Close()
	}
}

// mappedKB returns the memory of this process that is mapped from files, in
// KiB.
func mappedKB(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var kb int
		if _, err := fmt.Sscanf(line, "RssFile: %d kB", &kb); err == nil {
			return kb
		}
	}
	t.Fatal("no RssFile in /proc/self/status")
	return 0
}
