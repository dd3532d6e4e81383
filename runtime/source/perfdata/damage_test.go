package perfdata

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

// isClear reports that err is fit for a user: a diag.Error that names the
// recording and has a hint.
func isClear(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && diag.HintOf(err) != "" && e.Subject != "" &&
		!strings.Contains(e.Error(), "\n")
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	f := func(content, want string) {
		t.Helper()
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func() (*File, error){
			func() (*File, error) { return Open(path, Options{}) },
			func() (*File, error) {
				return OpenReader(context.Background(), strings.NewReader(content), path, Options{})
			},
		} {
			_, err := open()
			if !isClear(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("%.20q: got %v (hint %q), want %q", content, err, diag.HintOf(err), want)
			}
		}
	}
	f("", "is empty")
	f("PERFILE2", "got 8 bytes, want at least 16")
	f("#!/bin/sh\necho hello world\n", "neither a perf.data nor a trace.dat does")
	f("2ELIFREP\x00\x00\x00\x00\x00\x00\x00\x68", "big-endian")
	f("PERFFILE\x68\x00\x00\x00\x00\x00\x00\x00", "version 1")
	f("PERFILE2\x69\x00\x00\x00\x00\x00\x00\x00", "header size: got 105")
	f("PERFILE2\x10\x00\x00\x00\x00\x00\x00\x00", "no events")

	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := Open(path, Options{}); !isClear(err) || diag.ClassOf(err) != diag.Usage {
			t.Errorf("open %s: got %v", path, err)
		}
	}
	if _, err := OpenReader(context.Background(), bytes.NewReader(load(t, "trace")), "stdin",
		Options{}); !isClear(err) ||
		!strings.Contains(err.Error(), "cannot be read from a pipe") {
		t.Errorf("file through a pipe: got %v", err)
	}
}

func numSamples(rings [][]event.Event) (n int) {
	for _, r := range rings {
		for i := range r {
			if r[i].Kind == event.Sample {
				n++
			}
		}
	}
	return n
}

// A killed perf record leaves no size, no features, and half a record.
func TestKilledRecording(t *testing.T) {
	b := load(t, "trace")
	off, size := le.Uint64(b[40:]), le.Uint64(b[48:])
	b = bytes.Clone(b[:off+size-5])
	le.PutUint64(b[48:], 0)
	want := len(goldenLines(t, "trace"))
	for _, ordered := range []bool{false, true} {
		var asked []uint64
		f := openBytes(t, b, Options{Ordered: ordered, Formats: func(id uint64) *event.Schema {
			asked = append(asked, id)
			return nil
		}})
		if n := numSamples(all(t, f)); n < want-1 || n > want {
			t.Errorf("ordered %v: got %d samples, want about %d", ordered, n, want)
		}
		if f.Loss().EndedEarly == 0 || len(f.Warnings()) == 0 {
			t.Errorf("ordered %v: loss %+v and warnings %q do not tell", ordered, f.Loss(), f.Warnings())
		}
		if len(asked) != 4 || asked[0] == 0 {
			t.Errorf("asked for formats of %d, want four", asked)
		}
		f.Close()
	}
}

// A file that was copied in part.
func TestEveryPrefix(t *testing.T) {
	for _, name := range recordings {
		b := load(t, name)
		for n := 0; n < len(b); n += 1 + len(b)/300 {
			f, err := openMapped(context.Background(), &mappedInput{b: b[:n], end: n}, name, Options{})
			if err != nil {
				if !isClear(err) {
					t.Errorf("%s: %d bytes: open: %v", name, n, err)
				}
				continue
			}
			_, err = drain(f)
			whole := name != "pipe" && uint64(n) >= le.Uint64(b[40:])+le.Uint64(b[48:])
			switch {
			case err != io.EOF && !isClear(err):
				t.Errorf("%s: %d bytes: %v", name, n, err)
			case name != "pipe" && !whole && f.Loss().EndedEarly == 0:
				t.Errorf("%s: %d bytes: not reported as cut", name, n)
			case name != "pipe" && len(f.Warnings()) == 0:
				t.Errorf("%s: %d bytes: no warning", name, n)
			}
			f.Close()
		}
	}
}

// A damaged record is one error with its offset; all records before it are
// read.
func TestBadRecord(t *testing.T) {
	b := bytes.Clone(load(t, "trace"))
	at := int(le.Uint64(b[40:]))
	for n := 0; n < 100; n++ {
		at += int(le.Uint16(b[at+6:]))
	}
	le.PutUint16(b[at+6:], 3)
	f := openBytes(t, b, Options{})
	defer f.Close()
	rings, err := drain(f)
	if !isClear(err) || !strings.Contains(err.Error(), "record size: got 3, want at least 8") {
		t.Errorf("got %v", err)
	}
	if n := len(rings[0]); n < 80 || n > 100 {
		t.Errorf("got %d events before it, want nearly 100", n)
	}
	if again := f.Poll(t.Context(), 0); again != err {
		t.Errorf("second Poll: got %v, want the same error", again)
	}
}

func TestFlippedBits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, name := range recordings {
		orig := load(t, name)
		for range 400 {
			b := bytes.Clone(orig)
			limit := len(b)
			if rnd.IntN(2) == 0 {
				limit = min(limit, 1200) // header and attrs
			}
			for range 1 + rnd.IntN(3) {
				b[rnd.IntN(limit)] ^= 1 << rnd.IntN(8)
			}
			checkBytes(t, b)
			if name == "pipe" {
				checkPipe(t, b)
			}
		}
	}
}

// checkPipe compares a pipe, which comes in pieces, with the same bytes in a
// file.
func checkPipe(t *testing.T, b []byte) {
	t.Helper()
	read := func(f *File, err error) (int, string) {
		if err != nil {
			if !isClear(err) {
				t.Fatalf("open: %v", err)
			}
			return 0, err.Error()
		}
		defer f.Close()
		rings, err := drain(f)
		if err != io.EOF && !isClear(err) {
			t.Fatalf("read: %v", err)
		}
		return len(rings[0]), err.Error()
	}
	n, err := read(OpenReader(context.Background(), &slowReader{b: b, step: 500}, "x", Options{}))
	fileN, fileErr := read(openMapped(context.Background(), &mappedInput{b: b, end: len(b)}, "x", Options{}))
	if n != fileN || err != fileErr {
		t.Fatalf("got %d events and %s, as a file %d and %s", n, err, fileN, fileErr)
	}
}

// checkBytes checks the invariants of reading any bytes: no panic; an error is
// clear; both ways of reading find the same number of events.
func checkBytes(t *testing.T, b []byte) {
	t.Helper()
	var counts [2]int
	var ends [2]error
	for i, ordered := range []bool{false, true} {
		f, err := openMapped(context.Background(), &mappedInput{b: b, end: len(b)}, "fuzz", Options{
			Ordered: ordered, MaxPending: 1 << 20,
		})
		if err != nil {
			if !isClear(err) {
				t.Fatalf("open: %v (hint %q)", err, diag.HintOf(err))
			}
			return
		}
		rings, err := drain(f)
		if err != io.EOF && !isClear(err) {
			t.Fatalf("read: %v (hint %q)", err, diag.HintOf(err))
		}
		for _, r := range rings {
			counts[i] += len(r)
			for j := range r {
				touch(&r[j])
			}
		}
		ends[i] = err
		if err := f.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if counts[0] != counts[1] || (ends[0] == io.EOF) != (ends[1] == io.EOF) {
		t.Fatalf("got %d events and %v in file order, %d and %v in time order", counts[0], ends[0],
			counts[1], ends[1])
	}
}

// touch reads all that an event offers.
func touch(e *event.Event) {
	if e.Stream == nil {
		return
	}
	e.Stream.Members.Callchain(e)
	for _, f := range e.Stream.Schema.Fields {
		f.Value(e)
	}
	e.Stream.Members.Member(e, event.MemberPeriod)
}

// A message stays on one line though the file holds line ends.
func TestControlCharacters(t *testing.T) {
	b := load(t, "trace")
	hostile := bytes.Replace(bytes.Clone(b), []byte("raw_syscalls\x00"), []byte("raw\x1b[2Jcalls\x00"), 1)
	_, err := parseTracing(hostile[bytes.Index(b, []byte(tracingMagic)):])
	if err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("got %q, want an error without control characters", err)
	}
	six, err := os.ReadFile("../tracedat/testdata/six.dat")
	if err != nil {
		t.Fatal(err)
	}
	// The system s, and then its one event.
	six = bytes.Replace(six, []byte("s\x00\x01\x00"), []byte("\x1b\x00\x01\x00"), 1)
	_, err = openMapped(t.Context(), &mappedInput{b: six, end: len(six)}, "six", Options{})
	if err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("got %q, want an error without control characters", err)
	}
	f := openBytes(t, bytes.ReplaceAll(b, []byte("testhost"), []byte("te\x1b[2J\n")), Options{})
	defer f.Close()
	if h := f.Info().Hostname; h != `te\x1b[2J\n` {
		t.Errorf("Hostname: got %q", h)
	}
}

func FuzzOpen(f *testing.F) {
	for i, name := range recordings {
		formats := i < 2 // one file, and the pipe
		b := load(f, name)
		if name == "pipe" {
			b = smallPipe(b, formats)
		} else {
			b = smallFile(b, formats)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add([]byte("PERFILE2\x10\x00\x00\x00\x00\x00\x00\x00"))
	for _, path := range []string{"../tracedat/testdata/six.dat", "../../../tests/data/cmdstack.dat"} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-30])
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkBytes(t, b) })
}

func FuzzTracing(f *testing.F) {
	f.Add(appendTracing(nil, &tracing{longSize: 8, pageSize: 4096, headerPage: "x", printk: "y",
		formats: []format{{"ftrace", "a"}, {"sched", "name: x\nID: 5\n"}, {"irq", "b"}, {"sched", "c"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := parseTracing(b)
		if err != nil {
			return
		}
		again, err := parseTracing(appendTracing(nil, tr))
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if len(again.formats) != len(tr.formats) || again.printk != tr.printk ||
			again.cmdlines != tr.cmdlines ||
			again.pageSize != tr.pageSize || again.headerPage != tr.headerPage {
			t.Fatalf("got %+v, want %+v", again, tr)
		}
	})
}
