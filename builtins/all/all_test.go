package all

import (
	"os"
	"strings"
	"testing"

	"ppscript/builtins"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
)

func registry(t *testing.T) *builtins.Registry {
	t.Helper()
	r, err := Registry()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReferenceIsUpToDate(t *testing.T) {
	have, err := os.ReadFile("../REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != registry(t).Reference() {
		t.Error("builtins/REFERENCE.md is stale; write it again: go generate ./builtins")
	}
}

// runInput runs an example whose events come from a recording. It returns
// what the example shows.
var runInput func(r *builtins.Registry, e builtins.Example) (string, error)

// TestExamples runs every example of the reference and compares its output.
func TestExamples(t *testing.T) {
	r := registry(t)
	for _, b := range r.All() {
		for _, e := range b.Examples {
			t.Run(b.FullName(), func(t *testing.T) {
				var got string
				var err error
				switch {
				case e.Live:
					err = check(r, e.Code)
				case e.Input != "" && runInput == nil:
					t.Skip("no runner for examples over recordings")
				case e.Input != "":
					got, err = runInput(r, e)
				default:
					got, err = run(r, e.Code)
				}
				if err != nil {
					t.Fatalf("%s: %v", e.Code, err)
				}
				if e.Output != "" && !e.Live && strings.TrimRight(got, "\n") != strings.TrimRight(e.Output, "\n") {
					t.Errorf("%s:\n got %s\nwant %s", e.Code, got, e.Output)
				}
			})
		}
	}
}

// run executes code and returns what it prints and the value of its last line.
func run(r *builtins.Registry, code string) (string, error) {
	var out strings.Builder
	h := script.NewHost(script.HostOptions{
		Predeclared: r.Predeclared(),
		Print:       func(msg string) { out.WriteString(msg + "\n") },
	})
	v, err := h.NewREPL().Exec(code)
	if err == nil && v != starlark.None {
		out.WriteString(v.String())
	}
	return out.String(), err
}

// check parses and resolves code.
func check(r *builtins.Registry, code string) error {
	h := script.NewHost(script.HostOptions{Predeclared: r.Predeclared()})
	return h.Check("example", code)
}
