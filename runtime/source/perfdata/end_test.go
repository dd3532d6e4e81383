package perfdata

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// tickFormat is a tracepoint with one field.
const tickFormat = `name: tick
ID: 77
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int n;	offset:8;	size:4;	signed:1;

print fmt: "n=%d", REC->n
`

// ticks is a recording in pipe mode of n events, without its end mark.
func ticks(t *testing.T, n int) (b []byte, streams []StreamInfo) {
	t.Helper()
	streams = []StreamInfo{{
		Attr: unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: 77, Sample: 1,
			Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW},
		IDs:    []uint64{1},
		Name:   "test:tick",
		System: "test",
		Format: tickFormat,
		Schema: &event.Schema{System: "test", Name: "tick", ID: 77},
	}}
	b, err := PipeHead(streams, WriteOptions{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		b = append(b, header(unix.PERF_RECORD_SAMPLE, 0, recHeaderSize+8+8+4+12)...)
		b = le.AppendUint64(b, 1)
		b = le.AppendUint64(b, uint64(1000*(i+1)))
		b = le.AppendUint32(b, 12)
		b = append(b, make([]byte, 12)...)
	}
	return b, streams
}

// A pipe of ppscript without an end mark has ended early; perf's pipes announce
// no end mark.
func TestEndedEarly(t *testing.T) {
	whole, streams := ticks(t, 10)
	f := func(name string, b []byte, samples int, early uint64) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func() (*File, error){
			func() (*File, error) { return Open(path, Options{Ordered: true}) },
			func() (*File, error) {
				return OpenReader(context.Background(), &slowReader{b: b, step: 77}, name,
					Options{Ordered: true})
			},
		} {
			file, err := open()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n := numSamples(all(t, file)); n != samples || file.Loss().EndedEarly != early ||
				file.Loss().Truncated != 0 {
				t.Errorf("%s: got %d samples, loss %+v, want %d samples and %d ended early", name, n,
					file.Loss(), samples, early)
			}
			if told := strings.Contains(strings.Join(file.Warnings(), "\n"), "ended early"); told !=
				(early > 0) {
				t.Errorf("%s: got warnings %q", name, file.Warnings())
			}
			file.Close()
		}
	}
	f("ended", AppendEnd(whole, streams), 10, 0)
	f("killed between records", whole, 10, 1)
	f("killed within a record", whole[:len(whole)-5], 9, 1)
	f("killed within the end mark", AppendEnd(whole, streams)[:len(whole)+9], 10, 1)
	f("perf's pipe", load(t, "pipe"), len(goldenLines(t, "pipe")), 0)
}

// An event with an invalid format has no fields; the recording can still be read.
func TestFormatThatIsNotUnderstood(t *testing.T) {
	whole, streams := ticks(t, 10)
	b := AppendEnd(bytes.Replace(whole, []byte("n;\toffset:8;"), []byte("n;\toffzet:8;"), 1), streams)
	file, err := OpenReader(context.Background(), bytes.NewReader(b), "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n := numSamples(all(t, file)); n != 10 {
		t.Errorf("got %d samples, want 10", n)
	}
	if told := strings.Join(file.Warnings(), "\n"); !strings.Contains(told, "field without an offset") ||
		!strings.Contains(told, "its fields are unknown") {
		t.Errorf("got warnings %q, want the field that is not understood", told)
	}
}

// breaking is a connection that breaks.
type breaking struct{ b []byte }

func (r *breaking) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, unix.ECONNRESET
	}
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, nil
}

// TestBrokenConnectionEndsEarly checks that records from before a connection broke are shown, and
// the break is counted.
func TestBrokenConnectionEndsEarly(t *testing.T) {
	b, _ := ticks(t, 10)
	f, err := OpenReader(context.Background(), &breaking{b}, "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := numSamples(all(t, f)); n != 10 || f.Loss().EndedEarly != 1 {
		t.Errorf("got %d samples, loss %+v, want 10 and one ended early", n, f.Loss())
	}
}

// trickle writes b into a pipe byte by byte, until the reader has left.
func trickle(t *testing.T, b []byte, pause time.Duration) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.Close()
		for i := range b {
			if _, err := w.Write(b[i : i+1]); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}()
	t.Cleanup(func() { r.Close(); <-done })
	return r
}

// The wait for a description that comes byte by byte ends with the context, and
// no record makes Poll exceed its timeout.
func TestSlowSendersAreNotWaitedFor(t *testing.T) {
	b, _ := ticks(t, 1)
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer stop()
	if f, err := OpenReader(ctx, trickle(t, b, 5*time.Millisecond), "x", Options{}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("got %v, %v; want the end of the context", f, err)
	}

	// Records without end that show nothing.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.Close()
		head, _ := ticks(t, 1)
		_, err := w.Write(head)
		for err == nil {
			_, err = w.Write(AppendRound(nil))
		}
	}()
	defer func() { <-done }()
	f, err := OpenReader(context.Background(), r, "x", Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 100 {
		if err := f.Poll(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// A pipe of perf has no end mark. If it is cut after a sample, it ends within a
// pass over the rings; a complete pipe does not.
func TestPipeEndsWithinARound(t *testing.T) {
	b := load(t, "pipe")
	if f := openBytes(t, b, Options{}); numSamples(all(t, f)) == 0 || f.Loss().EndedEarly != 0 {
		t.Errorf("whole: got %d ended early, want 0", f.Loss().EndedEarly)
	}
	rounds, open, cuts := false, false, 0
	for at := pipeHeaderSize; at < len(b); {
		typ, size := le.Uint32(b[at:]), int(le.Uint16(b[at+6:]))
		if typ == recTracingData {
			size += int(le.Uint32(b[at+8:]))
		}
		at += size
		switch typ {
		case unix.PERF_RECORD_SAMPLE:
			open = true
		case recFinishedRound:
			rounds, open = true, false
		}
		if !rounds {
			continue
		}
		f := openBytes(t, b[:at], Options{Ordered: true})
		all(t, f)
		want := uint64(0)
		if open {
			want = 1
			cuts++
		}
		if got := f.Loss().EndedEarly; got != want {
			t.Errorf("cut at %d, behind a record of type %d: got %d ended early, want %d", at, typ, got, want)
		}
		f.Close()
	}
	if cuts == 0 {
		t.Error("no cut was within a round")
	}
}
