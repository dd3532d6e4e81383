package perfdata

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"
)

// intoDirectory splits a recording after some records, as perf record --threads
// would have written it.
func intoDirectory(t *testing.T, name string) string {
	t.Helper()
	b := load(t, name)
	off, size := int(le.Uint64(b[40:])), int(le.Uint64(b[48:]))
	data := b[off : off+size]
	var cuts []int
	for at, n := 0, 0; at < len(data); n++ {
		if n == len(data)/2000 || n == len(data)/400 {
			cuts = append(cuts, at)
		}
		at += int(le.Uint16(data[at+6:]))
	}
	if len(cuts) != 2 {
		t.Fatalf("%s: got %d places to cut, want 2", name, len(cuts))
	}
	head := bytes.Clone(b[:off])
	le.PutUint64(head[48:], uint64(cuts[0]))
	tail := bytes.Clone(b[off+size:])
	features := 0
	for _, x := range b[72:104] {
		for ; x != 0; x &= x - 1 {
			features++
		}
	}
	for i := range features {
		le.PutUint64(tail[16*i:], le.Uint64(tail[16*i:])-uint64(size-cuts[0]))
	}
	dir := t.TempDir()
	for file, content := range map[string][]byte{
		"data":   slices.Concat(head, data[:cuts[0]], tail),
		"data.0": data[cuts[0]:cuts[1]],
		"data.1": nil,
		"data.2": data[cuts[1]:],
	} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The files of a directory are one recording, in time order or not.
func TestDirectory(t *testing.T) {
	for _, name := range []string{"trace", "cpus", "group"} {
		dir := intoDirectory(t, name)
		for _, ordered := range []bool{false, true} {
			f, err := Open(dir, Options{Ordered: ordered})
			if err != nil {
				t.Fatal(err)
			}
			one := open(t, name, Options{Ordered: ordered})
			got, want := byTime(t, f), byTime(t, one)
			if len(got) != len(want) || len(got) == 0 {
				t.Fatalf("%s: got %d events, want %d", name, len(got), len(want))
			}
			for i := range want {
				if got[i].Time != want[i].Time || !bytes.Equal(got[i].Rec, want[i].Rec) {
					t.Fatalf("%s: event %d: got one at %d, want %d", name, i, got[i].Time, want[i].Time)
				}
			}
			if !f.Info().Directory || !f.Loss().Zero() {
				t.Errorf("%s: got Directory %v and loss %+v", name, f.Info().Directory, f.Loss())
			}
			one.Close()
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
		// If a file is cut, only the records after the cut are missing.
		if err := os.Truncate(filepath.Join(dir, "data.2"), 4); err != nil {
			t.Fatal(err)
		}
		f, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := drain(f); !isClear(err) {
			t.Errorf("%s: cut: got %v, want a clear error", name, err)
		}
		f.Close()
	}
	if _, err := Open(t.TempDir(), Options{}); !isClear(err) {
		t.Errorf("an empty directory: got %v", err)
	}
}

// TestDamagedDirectory checks that damaged files of a directory are an error, or are read; nothing
// else.
func TestDamagedDirectory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"trace", "group"} {
		dir := intoDirectory(t, name)
		for _, file := range []string{"data", "data.0", "data.2"} {
			whole, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				b := bytes.Clone(whole)
				for range 1 + rng.IntN(8) {
					b[rng.IntN(len(b))] = byte(rng.Uint32())
				}
				if err := os.WriteFile(filepath.Join(dir, file), b[:rng.IntN(len(b)+1)], 0o600); err != nil {
					t.Fatal(err)
				}
				f, err := Open(dir, Options{Ordered: rng.IntN(2) == 0, MaxPending: 1 << 20})
				if err == nil {
					_, err = drain(f)
					f.Close()
				}
				if err != io.EOF && !isClear(err) {
					t.Fatalf("%s/%s: got %v (hint %q)", name, file, err, diag.HintOf(err))
				}
			}
			if err := os.WriteFile(filepath.Join(dir, file), whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A recording that perf wrote with a thread for each CPU, compressed or not,
// reads as in perf script.
func TestThreadsOfPerf(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Perf, testkit.Long)
	for _, more := range [][]string{nil, {"-z"}} {
		dir := filepath.Join(t.TempDir(), "x.data")
		args := append([]string{"record", "-q", "--threads=cpu", "-a", "-e", "sched:sched_switch", "-o", dir},
			more...)
		if out, err := exec.Command("perf", append(args, "--", "sleep", "0.3")...).
			CombinedOutput(); err != nil {
			t.Fatalf("perf record: %v\n%s", err, out)
		}
		f, err := Open(dir, Options{Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, ring := range all(t, f) {
			for i := range ring {
				if i > 0 && ring[i].Time < ring[i-1].Time {
					t.Errorf("%q: an event at %d comes after one at %d", more, ring[i].Time, ring[i-1].Time)
				}
			}
			n += numSamples([][]event.Event{ring})
		}
		if want := strings.Count(runPerf(t, "script", "-i", dir, "-F", "event"), "sched_switch"); n != want ||
			n == 0 {
			t.Errorf("%q: got %d samples, want %d", more, n, want)
		}
		f.Close()
	}
}
