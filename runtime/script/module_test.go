package script

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/script/option"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

func TestModule(t *testing.T) {
	_, m, err := load(t,
		"\"\"\"Answers it.\n\n    Indented.\n      More.\n\"\"\"\n\ndef main(o):\n    return 1\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Answers it.\n\nIndented.\n  More."; m.Doc != want {
		t.Errorf("doc: got %q, want %q", m.Doc, want)
	}
	if m.Main == nil || m.Options != nil {
		t.Errorf("got main %v, options %v", m.Main, m.Options)
	}
	if _, _, err := load(t, "main = 5"); err == nil ||
		err.Error() != "load t.star: main: got int, want a function" {
		t.Errorf("got %v", err)
	}
}

func TestRunPassesOptions(t *testing.T) {
	set := &option.Set{Options: []option.Option{{Name: "n", Type: option.Int, Default: starlark.MakeInt(2)}}}
	vals, err := set.Values(map[string][]string{"n": {"3"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := func(src, want string) {
		t.Helper()
		h, m, err := load(t, src)
		if err != nil {
			t.Fatal(err)
		}
		v, err := h.Run(m, vals)
		if err != nil || v.String() != want {
			t.Errorf("%q: got %v, %v, want %s", src, v, err, want)
		}
	}
	f("def main(o): return o.n", "3")
	f("def main(): return 7", "7")
	if !vals.IsSet("n") || vals.IsSet("m") {
		t.Error("Given does not tell what was on the command line")
	}
	h, m, _ := load(t, "x = 1")
	if _, err := h.Run(m, vals); diag.ClassOf(err) != diag.Usage {
		t.Errorf("a library ran: %v", err)
	}
}

func TestErrorsOfBuiltinsKeepClassAndHint(t *testing.T) {
	cause := errors.New("no such event")
	h := NewHost(HostOptions{Predeclared: starlark.StringDict{
		"open": starlark.NewBuiltin("open",
			func(*starlark.Thread, *starlark.Builtin, starlark.Tuple,
				[]starlark.Tuple) (starlark.Value, error) {
				return nil, &diag.Error{
					Op:      "open tracepoint",
					Subject: "a:b",
					Cause:   cause,
					Class:   diag.Attach,
					Hint:    "run as root",
				}
			}),
		"crash": starlark.NewBuiltin("crash",
			func(*starlark.Thread, *starlark.Builtin, starlark.Tuple,
				[]starlark.Tuple) (starlark.Value, error) {
				panic("oops")
			}),
	}})
	_, err := h.LoadSource("t.star", "x = [open()]")
	if got, want := err.Error(), "t.star:1:6: open tracepoint a:b: no such event"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if diag.ClassOf(err) != diag.Attach || diag.HintOf(err) != "run as root" || !errors.Is(err, cause) {
		t.Errorf("class, hint or cause is lost: %v %q", diag.ClassOf(err), diag.HintOf(err))
	}
	_, err = h.LoadSource("u.star", "crash()")
	if err == nil || !strings.Contains(err.Error(), "BUG: oops") ||
		strings.Contains(err.Error(), "goroutine") {
		t.Errorf("got %v", err)
	}
	if _, err := h.LoadSource("v.star", "x = 1"); err != nil {
		t.Errorf("the host does not work after a panic: %v", err)
	}
}

func TestLoadFromDisk(t *testing.T) {
	dir := t.TempDir()
	for name, src := range map[string]string{
		"main.star":    "load('./sub/a.star', 'a')\nb = a\n",
		"sub/a.star":   "load('../c.star', 'c')\na = c + 1\n",
		"c.star":       "c = 1\n",
		"fail.star":    "load('./sub/bad.star', 'x')\n",
		"sub/bad.star": "x = 1 // 0\n",
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := NewHost(HostOptions{})
	m, err := h.Load(filepath.Join(dir, "main.star"))
	if err != nil || m.Globals["b"].String() != "2" {
		t.Fatalf("got %v, %v", m, err)
	}
	_, err = h.Load(filepath.Join(dir, "fail.star"))
	var d *diag.Error
	if !errors.As(err, &d) || !strings.HasSuffix(d.Pos, "sub/bad.star:1:7") ||
		!strings.Contains(d.Excerpt, "\nloaded from "+dir+"/fail.star:1:") {
		t.Errorf("got %v\n%s", err, d.Excerpt)
	}
	_, err = h.Load(filepath.Join(dir, "man.star"))
	if err == nil || !strings.Contains(err.Error(), "no such file (did you mean main.star?)") {
		t.Errorf("got %v", err)
	}
}

func TestREPL(t *testing.T) {
	h := NewHost(HostOptions{Predeclared: value.Units()})
	r := h.NewREPL()
	f := func(text, want string) {
		t.Helper()
		v, err := r.Exec(text)
		if err != nil || v.String() != want {
			t.Errorf("%q: got %v, %v, want %s", text, v, err, want)
		}
	}
	f("x = 1", "None")
	f("x += 1\nx * 2", "4")
	f("_ + 1", "5")
	f("def f(a):\n    return a * ms\n", "None")
	f("f(2)", "2ms")
	f("l = []", "None")
	f("l.append(1)\nl", "[1]")
	if _, err := r.Exec("y = lenn(x)"); err == nil ||
		err.Error() != "<input 8>:1:5: undefined name lenn (did you mean len?)" {
		t.Errorf("got %v", err)
	}
	h.Cancel("interrupted")
	if _, err := r.Exec("x"); err == nil {
		t.Error("ran while cancelled")
	}
	h.Resume()
	f("x", "2")

	more := func(text string, want bool) {
		t.Helper()
		if got := r.Incomplete(text); got != want {
			t.Errorf("%q: incomplete: got %v, want %v", text, got, want)
		}
	}
	more("x = 1\n", false)
	more("x = (1,\n", true)
	more("x = (1,\n2)\n", false)
	more("def f():\n", true)
	more("def f():\n    return 1\n", true)
	more("def f():\n    return 1\n\n", false)
	more("x = )\n", false)

	if got := r.Complete("y = ms.u"); !slices.Equal(got, []string{"ms.us"}) {
		t.Errorf("got %v", got)
	}
	if got := r.Complete("enu"); !slices.Equal(got, []string{"enumerate"}) {
		t.Errorf("got %v", got)
	}
	if got := r.Complete("nothing.x"); got != nil {
		t.Errorf("got %v", got)
	}
}
