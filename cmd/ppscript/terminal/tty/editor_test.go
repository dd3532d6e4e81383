package tty

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// newTyped is an editor that nobody sees: keys are given to press.
func newTyped(t *testing.T) *Editor {
	t.Helper()
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(null, null)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.term.close(); null.Close() })
	e.Prompt, e.More = "> ", ". "
	e.Whole = func(text string) bool {
		return !strings.Contains(text, "def") || strings.HasSuffix(text, "\n\n")
	}
	e.Indent = func(before string) string {
		if strings.HasSuffix(before, ":\n") {
			return "    "
		}
		return ""
	}
	e.recall.at = -1
	return e
}

// typing presses keys; done is how many of them were left when the statement was whole, -1 if it
// never was.
func typing(t *testing.T, e *Editor, keys string) (left int) {
	t.Helper()
	for b := []byte(keys); len(b) > 0; {
		k, n := decode(b, true)
		b = b[n:]
		if k.kind == keyNone {
			continue
		}
		done, err := e.press(k)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return len(b)
		}
	}
	return -1
}

func TestKeysEdit(t *testing.T) {
	f := func(keys, want string, pos int) {
		t.Helper()
		e := newTyped(t)
		typing(t, e, keys)
		if got := e.text.String(); got != want || e.text.pos != pos {
			t.Errorf("%q: got %q with the cursor at %d, want %q at %d", keys, got, e.text.pos, want, pos)
		}
	}
	f("abc\x1b[D\x1b[DX", "aXbc", 2)
	f("abc\x01X\x05Y", "XabcY", 5)
	f("one two\x17three", "one three", 9)
	f("one two\x1b\x7fx", "one x", 5)
	f("one two\x1bbX", "one Xtwo", 5)
	f("one two\x1b[1;5DX", "one Xtwo", 5)
	f("one two\x01\x1bd\x05!", " two!", 5)
	f("one two\x01\x0b\x19\x19", "one twoone two", 14)
	f("abc\x15x", "x", 1)
	f("ab\x14", "ba", 2)
	f("abc\x7f\x7f", "a", 1)
	f("abc\x01\x1b[3~\x04", "c", 0)
	f("äöü\x1b[Dx", "äöxü", 3)
	f("abc\x1f", "", 0) // what was typed is one change
	f("abc\x7f\x1f", "abc", 3)
	f("\x1b[200~a\r\nb\x1b[201~", "a\nb", 3)
	f("def:\rx\x1b[AY", "def:Y\n    x", 5) // no line has that many columns
	f("def:\rx\r", "def:\n    x\n", 11)
	f("def:\r\x7f", "def:\n", 5) // a step of indentation
	f("def:\r        x\r", "def:\n        x\n", 15)
	f("a\tb", "a   b", 5)
	f("\x1b[9999zq", "q", 1)
}

func TestEnter(t *testing.T) {
	f := func(keys, want string, left int) {
		t.Helper()
		e := newTyped(t)
		if got := typing(t, e, keys); got != left || e.text.String() != want {
			t.Errorf("%q: got %q, %d bytes left, want %q, %d", keys, e.text.String(), got, want, left)
		}
	}
	f("1\r2", "1", 1)
	f("def:\rx\r\r2", "def:\n    x", 1)
	// What was pasted whole runs at once; within several lines Enter makes one.
	f("\x1b[200~def:\n    x\x1b[201~\r2", "def:\n    x", 1)
	f("\x1b[200~def:\n    x\x1b[201~\x1b[A\x05\ry\r", "def:\n    y\n\n    x", -1)
	f("def:\rx\x1b[A\x1b\r2", "def:\n    x", 1)
}

func TestRecall(t *testing.T) {
	e := newTyped(t)
	e.History = &History{limit: 10, entries: []string{"one", "def:\n    two", "three"}}
	f := func(keys, want string) {
		t.Helper()
		e.text.set("")
		e.recall = recall{at: -1}
		e.gotInput = false
		typing(t, e, keys)
		if got := e.text.String(); got != want {
			t.Errorf("%q: got %q, want %q", keys, got, want)
		}
	}
	f("\x10", "three")
	f("ne\x10\x0e", "ne")
	f("\x10\x10X", "def:\n    twoX")
	// Up goes through its lines, then to the one before.
	f("\x10\x10\x10X", "def:X\n    two")
	f("\x10\x10\x10\x10X", "oneX")
	f("\x10\x10\r", "def:\n    two")
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	if err := os.WriteFile(path, []byte("old\ndef f():\n\treturn 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	open := func() *History {
		t.Helper()
		h, err := OpenHistory(path, 100)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	// Two prompts at once, that both began with the same.
	a, b := open(), open()
	block := "def g():\n    x = 1\n\n\treturn x"
	for _, add := range []struct {
		h    *History
		text string
	}{{a, "1"}, {b, "2"}, {a, block + "\n\n"}, {b, "3"}, {b, "3"}, {a, " \n"}} {
		if err := add.h.Add(add.text); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"old", "def f():\nreturn 1", "1", "2", block, "3"}
	if got := open().Entries(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := a.Entries(); !slices.Equal(got, []string{"old", "def f():\nreturn 1", "1", block}) {
		t.Errorf("a prompt's own are %q", got)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", st.Mode(), err)
	}
}

// A history behind a link could be any file: nothing is kept in it, and its mode stays.
func TestHistoryBehindALink(t *testing.T) {
	dir := t.TempDir()
	other, path := filepath.Join(dir, "other"), filepath.Join(dir, "history")
	if err := errors.Join(os.WriteFile(other, nil, 0o644), os.Symlink(other, path)); err != nil {
		t.Fatal(err)
	}
	if h, err := OpenHistory(path, 100); !errors.Is(err, syscall.ELOOP) || h.Add("1") != nil {
		t.Errorf("got %v, want ELOOP, and a history that is not kept", err)
	}
	if st, err := os.Stat(other); err != nil || st.Size() != 0 || st.Mode().Perm() != 0o644 {
		t.Errorf("got %v, %v, want the other file as it was", st, err)
	}
}

// Of many processes that add at the same time, none loses a statement; what is too much goes.
func TestHistoryOfManyPrompts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var wait sync.WaitGroup
	for p := range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range 25 {
				h, err := OpenHistory(path, 60)
				if err == nil {
					err = h.Add(fmt.Sprintf("%d:\n    %d", p, i))
				}
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wait.Wait()
	h, err := OpenHistory(path, 1000)
	if err != nil || len(h.Entries()) != 100 {
		t.Fatalf("got %d statements, %v, want 100", len(h.Entries()), err)
	}
	if h, err = OpenHistory(path, 10); err != nil || len(h.Entries()) != 10 {
		t.Fatalf("got %d statements, %v, want the newest 10", len(h.Entries()), err)
	}
	out, err := exec.Command("grep", "-c", "^[0-9]", path).Output()
	if err != nil || strings.TrimSpace(string(out)) != "10" {
		t.Errorf("the file has %s statements, %v, want 10", out, err)
	}
}

func TestLay(t *testing.T) {
	f := func(text string, pos, width int, rows string, row, col int) {
		t.Helper()
		l := lay("> ", ". ", []rune(text), pos, width)
		if got := strings.Join(l.rows, "|"); got != rows || l.row != row || l.col != col {
			t.Errorf("%q: got %q, cursor %d,%d, want %q, %d,%d", text, got, l.row, l.col, rows, row, col)
		}
	}
	f("", 0, 10, "> ", 0, 2)
	f("abc", 1, 10, "> abc", 0, 3)
	f("abc", 3, 5, "> abc|", 1, 0)
	f("abcd", 4, 5, "> abc|d", 1, 1)
	f("a\nbc", 4, 10, "> a|. bc", 1, 4)
	f("漢字", 1, 5, "> 漢|字", 1, 0)
	f("\x1b[", 2, 10, "> ^[[", 0, 5)
}

// Whatever bytes come, keys are found, and the text stays one.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"abc\x1b[D", "\x1b[200~x", "\x1bOA", "\xff\xfe", "\x1b\x1b\x1b[", "def:\r\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e := newTyped(t)
		for len(b) > 0 {
			k, n := decode(b, true)
			if n < 1 || n > len(b) {
				if pasting(b) {
					return // its end is to come
				}
				t.Fatalf("%q: a key of %d bytes", b, n)
			}
			b = b[n:]
			if k.kind == keyNone || k.kind == keyControl && (k.r == 'r' || k.r == 'd' || k.r == 'c') {
				continue
			}
			if _, err := e.press(k); err != nil {
				return
			}
			if e.text.pos < 0 || e.text.pos > len(e.text.runes) {
				t.Fatalf("the cursor is at %d of %d", e.text.pos, len(e.text.runes))
			}
			if l := lay(">", ".", e.text.runes, e.text.pos, 9); l.row >= len(l.rows) || l.col > 9 {
				t.Fatalf("%q: the cursor is at %d,%d of %d rows", e.text.String(), l.row, l.col, len(l.rows))
			}
		}
	})
}
