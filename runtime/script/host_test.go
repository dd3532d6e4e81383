package script

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"ppscript/runtime/script/value"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

func load(t *testing.T, src string) (*Host, *Module, error) {
	t.Helper()
	h := NewHost(HostOptions{Predeclared: value.Units(), Limits: limits.Policy{Steps: 100_000}})
	m, err := h.LoadSource("t.star", src)
	return h, m, err
}

// fails loads src, calls main if it loads, and returns the error.
func fails(t *testing.T, src string) *diag.Error {
	t.Helper()
	h, m, err := load(t, src)
	if err == nil {
		_, err = h.Call(m.Main)
	}
	var d *diag.Error
	if !errors.As(err, &d) {
		t.Fatalf("%q: got error %v, want a diag.Error", src, err)
	}
	return d
}

func TestErrorsPointAtTheScript(t *testing.T) {
	f := func(src, wantText, wantExcerpt, wantHint string) {
		t.Helper()
		d := fails(t, src)
		if d.Error() != wantText {
			t.Errorf("%q:\n got %s\nwant %s", src, d, wantText)
		}
		if d.Excerpt != wantExcerpt {
			t.Errorf("%q: excerpt:\n got %q\nwant %q", src, d.Excerpt, wantExcerpt)
		}
		if !strings.Contains(d.Hint, wantHint) || wantHint == "" && d.Hint != "" {
			t.Errorf("%q: hint: got %q, want %q", src, d.Hint, wantHint)
		}
	}
	f("def g():\n    x = 1\ny = x\n", "t.star:3:5: undefined name x", "    y = x\n        ^", "help()")
	f("x = 1\ny = lenn(x)\n", "t.star:2:5: undefined name lenn (did you mean len?)",
		"    y = lenn(x)\n        ^^^^", "")
	f("x = (1\n", "t.star:2:1: syntax: got end of file, want ')'", "    \n    ^", "")
	f("x = 'a'.uper()\n", "t.star:1:9: string has no .uper field or method (did you mean .upper?)",
		"    x = 'a'.uper()\n            ^^^^", "")
	f("def f(x):\n\treturn 1 // x\n\ndef main():\n    return f(0)\n",
		"t.star:2:11: floored division by zero",
		"    \treturn 1 // x\n    \t         ^\ncalled from t.star:5:13 in main", "")
	f("def main():\n    if 5 * ms > 3: pass\n", "t.star:2:15: duration > int not implemented",
		"    "+"    if 5 * ms > 3: pass\n    "+"              ^", "give the other side a unit")
	f("l = []\ndef main(): l.append(1)\n", "t.star:2:15: append: cannot append to frozen list",
		"    def main(): l.append(1)\n                  ^^^^^^", "state(...)")
	f("a = zzyzx\nb = qqqqq\n", "t.star:1:5: undefined name zzyzx",
		"    a = zzyzx\n        ^^^^^\nt.star:2:5: undefined name qqqqq\n    b = qqqqq\n        ^^^^^",
		"help()")
}

func TestStepLimitNamesThePlaceAndTheWayOut(t *testing.T) {
	d := fails(t, "def main():\n    x = 0\n    while True:\n        x += 1\n")
	if !strings.HasPrefix(d.Error(), "t.star:") ||
		!strings.Contains(d.Error(), "stopped after 100000 steps") {
		t.Errorf("got %v", d)
	}
	if want := "/etc/ppscript/limits: steps 1000000"; !strings.Contains(d.Hint, want) {
		t.Errorf("hint: got %q, want %q", d.Hint, want)
	}
}

func TestCancelStopsARunningScript(t *testing.T) {
	var h *Host
	stop := starlark.NewBuiltin("stop",
		func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			h.Cancel("interrupted")
			return starlark.None, nil
		})
	h = NewHost(HostOptions{Predeclared: starlark.StringDict{"stop": stop}})
	_, err := h.LoadSource("t.star", "stop()\nwhile True:\n    pass\n")
	if err == nil || !strings.Contains(err.Error(), "script stopped: interrupted") {
		t.Fatalf("got %v", err)
	}
	if _, err := h.LoadSource("u.star", "x = 1"); err == nil {
		t.Error("a cancelled host ran another script")
	}
	h.Resume()
	if _, err := h.LoadSource("v.star", "x = 1"); err != nil {
		t.Errorf("after Resume: %v", err)
	}
}

func TestLoad(t *testing.T) {
	fsys := fstest.MapFS{}
	for name, src := range map[string]string{
		"a.star":      "load('./lib/b.star', 'b')\nload('@stdlib//lib/c.star', 'c')\na = b + c\n",
		"lib/b.star":  "load('./c.star', 'c')\nb = c * 10\n",
		"lib/c.star":  "c = 1\n",
		"cyc1.star":   "load('./cyc2.star', 'x')\ny = 1\n",
		"cyc2.star":   "load('./cyc1.star', 'y')\nx = 1\n",
		"broken.star": "load('./bad.star', 'x')\n",
		"bad.star":    "x = 1 +\n",
		"plain.star":  "load('lib.star', 'x')\n",
		"absent.star": "load('@stdlib//lib/bb.star', 'x')\n",
		"name.star":   "load('./lib/b.star', 'bb')\n",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(src)}
	}
	h := NewHost(HostOptions{Stdlib: fsys})
	m, err := h.Load("@stdlib//a.star")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Globals["a"].String(); got != "11" {
		t.Errorf("a: got %s, want 11", got)
	}
	if again, _ := h.Load("@stdlib//a.star"); again != m {
		t.Error("a file was loaded twice")
	}
	f := func(name, want string) {
		t.Helper()
		_, err := h.Load("@stdlib//" + name)
		var d *diag.Error
		if !errors.As(err, &d) {
			t.Fatalf("%s: got %v, want a diag.Error", name, err)
		}
		if got := d.Error() + "\n" + d.Excerpt + "\n" + d.Hint; !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	f("cyc1.star", "load cycle: @stdlib//cyc1.star -> @stdlib//cyc2.star -> @stdlib//cyc1.star")
	f("broken.star", "loaded from @stdlib//broken.star:1:1")
	f("broken.star", "@stdlib//bad.star:1:8: syntax:")
	f("plain.star", `write load("./lib.star", ...)`)
	f("absent.star", "no such file (did you mean b.star?)")
	f("name.star", "name bb not found")
	f("../../etc/passwd.star", "no such file")
}
