package parquet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

func table(name string, rows int) *result.Table {
	t := &result.Table{Columns: []result.Column{{Name: "n"}}}
	t.Name = name
	for i := range rows {
		t.Rows = append(t.Rows, []event.Value{event.IntOf(int64(i))})
	}
	return t
}

func names(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		return "none"
	}
	text := []string{}
	for _, f := range list {
		text = append(text, f.Name())
	}
	return strings.Join(text, " ")
}

// TestFilesOfARun checks that files have another name until they are whole; names of results that
// are no names of files, or the same, are told apart. A directory in which nothing began is
// removed.
func TestFilesOfARun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s, err := Opener(dir).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || names(t, dir) != "none" {
		t.Errorf("nothing began: got %v, %s; want no directory", err, names(t, dir))
	}
	if s, err = Opener(dir).Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(output.About{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "../a b", "..._a_b", "", "a"} {
		if err := s.Show(table(name, 3)); err != nil {
			t.Fatal(err)
		}
	}
	want := "_a_b.parquet.tmp _a_b_.parquet.tmp a.parquet.tmp result.parquet.tmp"
	if got := names(t, dir); got != want {
		t.Errorf("got files %s, want %s", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), strings.ReplaceAll(want, ".tmp", ""); got != want {
		t.Errorf("got files %s, want %s", got, want)
	}
	st, err := os.Stat(filepath.Join(dir, "a.parquet"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v; want 0600", st.Mode(), err)
	}
}

// A directory that cannot be made or written is told before anything begins.
func TestDirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(t.TempDir(), "no", "such")
	for _, dir := range []string{file, filepath.Join(file, "below"), nowhere} {
		_, err := Opener(dir).Open(t.Context())
		d := new(diag.Error)
		if !errors.As(err, &d) || d.Class != diag.Usage || d.Hint == "" {
			t.Errorf("%s: got %v, want a user's mistake with a hint", dir, err)
		}
	}
}

// TestGroupsAreBounded checks that memory has a bound, whatever comes: groups end after rows,
// cells, and words.
func TestGroupsAreBounded(t *testing.T) {
	s, o := discard(t, "a")
	if err := s.Show(table("a", 3*maxRows+5)); err != nil {
		t.Fatal(err)
	}
	if len(o.groups) != 3 || o.row != 5 {
		t.Errorf("got %d groups and %d rows, want 3 and 5", len(o.groups), o.row)
	}
	f := o.file
	f.group()
	f.groups = nil
	at := f.slot("text")
	long := make([]byte, 1000)
	for i := range 3 * maxWordBytes / 1000 {
		copy(long, event.IntOf(int64(i)).String())
		at.text(f, long)
		if err := f.next(); err != nil {
			t.Fatal(err)
		}
		if n := len(at.first.words.all); n > maxWordBytes+2000 {
			t.Fatalf("a dictionary has %d bytes, want %d or less", n, maxWordBytes)
		}
	}
	if len(f.groups) < 2 {
		t.Errorf("got %d groups, want some", len(f.groups))
	}
}

// Where the time of slow spans went is two files: the causes, and the parts of the slowest.
func TestFilesOfWhy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s, err := Opener(dir).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(output.About{}); err != nil {
		t.Fatal(err)
	}
	sum := result.WhySpans{Spans: 1, NS: 50}
	path := []result.WhyLink{{Kind: result.WhyDisk, What: "vda read, device"}}
	w := &result.Why{Name: "why", Slow: sum, Causes: []result.WhyCause{{Path: path, Slow: sum}},
		Slowest: []*result.WhySpan{{To: 50, Parts: []result.WhyPart{{To: 50, Path: path}}}}}
	if err := errors.Join(s.Show(w), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), "why.parquet why_parts.parquet"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, name := range strings.Fields(names(t, dir)) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), "disk vda read, device") {
			t.Errorf("%s: %v, it has no cause", name, err)
		}
	}
}

// A directory of others may have links at our names: nothing is written through them.
func TestLinksInTheDirectory(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	err := errors.Join(os.WriteFile(secret, []byte("kept"), 0o600),
		os.Symlink(secret, filepath.Join(dir, "a.parquet.tmp")))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Opener(dir).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Begin(output.About{}), s.Show(table("a", 3)), s.Close()); err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(filepath.Join(dir, "a.parquet"))
	if err != nil || !st.Mode().IsRegular() {
		t.Errorf("got %v, %v, want a file", st, err)
	}
	if text, _ := os.ReadFile(secret); string(text) != "kept" {
		t.Errorf("got %q behind the link, want it kept", text)
	}
}
