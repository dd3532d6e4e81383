package builtins

import (
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/script"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// wait is a function with one parameter of each kind.
func wait() *Builtin {
	return &Builtin{
		Name: "wait", Group: Hosted, Summary: "Waits.",
		Params: []Param{
			{Name: "what", Type: String, Required: true, Doc: "for what"},
			{Name: "than", Type: Duration, Default: value.Duration(5e6), Doc: "how long"},
			{Name: "pages", Type: Int, Unit: "pages", Default: Text("as many as needed"), Doc: "memory"},
			{Name: "where", Type: Expression, Named: true, Doc: "which"},
		},
		Returns: "string", Result: "the arguments", Errors: "none", Source: "computed", Cost: "none",
		Examples: []Example{{Code: `wait("x")`, Output: `"x 5ms 0"`}},
		Impl: func(c *Call) (starlark.Value, error) {
			if c.String("what") == "panic" {
				panic("at the disco")
			}
			if c.String("what") == "bad" {
				return nil, c.Errorf("what", "got bad, want good")
			}
			return starlark.String(c.String("what") + " " +
				value.Duration(c.Duration("than")).String() + " " +
				c.Value("pages").String()), nil
		},
	}
}

func TestArguments(t *testing.T) {
	r, err := NewRegistry([]*Builtin{wait()})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Predeclared()
	for k, v := range value.Units() {
		d[k] = v
	}
	h := script.NewHost(script.HostOptions{Predeclared: d})
	n := 0
	f := func(code, want, wantHint string) {
		t.Helper()
		n++
		m, err := h.LoadSource(strings.Repeat("x", n)+".star", "x = "+code)
		if err == nil {
			if got := m.Globals["x"].String(); got != want {
				t.Errorf("%s: got %s, want %s", code, got, want)
			}
			return
		}
		var e *diag.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: got %T", code, err)
		}
		_, got, _ := strings.Cut(e.Error(), ":1:")
		line := e.Excerpt[strings.LastIndex(e.Excerpt, "\n")+1:]
		if got := got + "\n" + line; got != want {
			t.Errorf("%s:\n got %s\nwant %s", code, got, want)
		}
		if !strings.Contains(e.Hint, wantHint) || e.Hint == "" {
			t.Errorf("%s: hint: got %q, want %q", code, e.Hint, wantHint)
		}
	}
	f(`wait("x")`, `"x 5ms None"`, "")
	f(`wait("x", 2 * ms)`, `"x 2ms None"`, "")
	f(`wait(than = "1.5ms", what = "x", pages = 3)`, `"x 1.5ms 3"`, "")
	f(`wait("x", than = None)`, `"x 5ms None"`, "")
	f(`wait()`, "5: wait: missing argument what\n        ^^^^", "write wait(what, than = 5ms, pages = as many as needed, *, where = None) -> string")
	f(`wait("x", then = 1)`, "15: wait: no parameter then (did you mean than?)\n                  ^^^^", "write wait(")
	f(`wait("x", than = 10)`, "22: wait than: got int 10, want duration\n                         ^^", "give the unit: 10 * ms")
	f(`wait("x", "10")`, "15: wait than: got string \"10\", want duration\n                  ^^^^", "10 * ms")
	f(`wait("x", 1*ms, 2, 3)`, "24: wait: got 4 positional arguments, want at most 3\n                           ^", "write wait(")
	f(`wait("x", what = "y")`, "15: wait: argument what is given twice\n                  ^^^^", "write wait(")
	f(`wait("x", where = 3)`, "23: wait where: got int 3, want expression\n                          ^", "lambda e:")
	f(`wait("bad")`, "10: wait what: got bad, want good\n             ^^^^^", "read help(wait)")
	f(`wait("panic")`, "5: wait: BUG: at the disco\n        ^^^^", "report it")
}

func TestHelpForm(t *testing.T) {
	want := `wait(what, than = 5ms, pages = as many as needed, *, where = None) -> string
    Waits.
    what    string       for what
    than    duration     how long
    pages   int, pages   memory
    where   expression   which
    Result  the arguments
    Errors  none
    Source  computed
    Cost    none
    Example wait("x")
              "x 5ms 0"
`
	if got := wait().help(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestIncompleteDeclarationIsRejected(t *testing.T) {
	b := wait()
	b.Cost = ""
	if _, err := NewRegistry([]*Builtin{b}); err == nil || !strings.Contains(err.Error(), "wait: no cost") {
		t.Errorf("got %v", err)
	}
}

// A parameter that may be left out may be None, which its type has to say:
// checkers of types believe it.
func TestStubsAllowNone(t *testing.T) {
	r, err := NewRegistry([]*Builtin{wait()})
	if err != nil {
		t.Fatal(err)
	}
	want := "def wait(what: str, than: Optional[Union[Duration, str]] = ..., pages: Optional[int] = None, *, " +
		"where: Optional[Union[str, Callable]] = None) -> str:"
	if !strings.Contains(r.Stubs(), want) {
		t.Errorf("got\n%s\nwant %s", r.Stubs(), want)
	}
}
