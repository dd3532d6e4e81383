package limits

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/text/diag"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits")
	anybody := func(string) error { return nil }
	f := func(text string, trusted func(string) error) (Policy, error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return Read(path, trusted)
	}
	got, err := f("# ours\nsteps 5000\ncall-steps 2000 # few\n\nmemory 32m\ntime 2s\ndepth 50\n", anybody)
	want := Policy{Steps: 5000, CallSteps: 2000, Memory: 32 << 20, Time: 2 * time.Second, Depth: 50,
		Path: path}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if hint := got.Raise(Memory, "64m"); !strings.Contains(hint, "a line in "+path+": memory 64m") {
		t.Errorf("got hint %q, want the line", hint)
	}
	if in := got.In(time.Second); in.Time != time.Second || strings.Contains(in.Raise(Time, "4s"), path) ||
		got.In(time.Hour) != got || got.In(0) != got {
		t.Errorf("within a second: got %+v, %q", in, in.Raise(Time, "4s"))
	}
	// Words are what the file may have.
	text := ""
	for _, w := range got.Words() {
		text += w[0] + " " + w[1] + "\n"
	}
	if again, err := f(text, anybody); err != nil || again != want {
		t.Errorf("%q: got %+v, %v, want %+v", text, again, err, want)
	}
	got, err = f("steps 5000", anybody)
	if err != nil || got.Memory != defaults.Memory || got.Steps != 5000 {
		t.Errorf("one limit: got %+v, %v", got, err)
	}
	for _, wrong := range []string{
		"step 5000", "steps", "steps 10", "steps many", "steps 1e9", "steps 5000 6000", "memory 1k", "memory -1m",
		"time 5", "time 1ms", "time -1s", "depth 5", "depth 1000000", "call-steps 0",
	} {
		got, err := f("memory 32m\n"+wrong, anybody)
		var d *diag.Error
		if got != (Policy{}) || !errors.As(err, &d) || d.Hint == "" ||
			!strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: got %+v, %v, want an error about line 2 with a hint", wrong, got, err)
		}
	}
	mine := errors.New("others may write to it")
	got, err = f("steps 5000", func(string) error { return mine })
	if !errors.Is(err, mine) || got != (Policy{}) {
		t.Errorf("a file of others: got %+v, %v, want %v", got, err, mine)
	}
	if got, err := Read(path+"no", func(string) error { return mine }); err != nil || got != defaults {
		t.Errorf("no file: got %+v, %v, want the defaults", got, err)
	}
}
