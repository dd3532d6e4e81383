package all

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"ppscript/builtins"
	"ppscript/builtins/explore"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/script"
	"ppscript/stdlib"
	"ppscript/tests/testkit"

	"go.starlark.net/starlark"
)

func registry(t *testing.T) *builtins.Registry {
	t.Helper()
	r, err := Tests(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReferenceIsUpToDate(t *testing.T) {
	r := registry(t)
	for name, want := range map[string]string{"REFERENCE.md": r.Reference(), "builtins.pyi": r.Stubs()} {
		have, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != want {
			t.Errorf("builtins/%s is stale; write it again: go generate ./builtins", name)
		}
	}
}

// runInput runs an example whose events come from a recording. It returns
// the example's output.
func runInput(e builtins.Example) (string, error) {
	bench := &explore.Workbench{
		Reports: pipeline.ReportsOrStreams,
		Context: context.Background,
		Abilities: explore.Abilities{Load: func(h *script.Host, name string) (*script.Module, error) {
			file, ok := stdlib.Find(name)
			if !ok {
				return nil, errors.New("no such profiler")
			}
			return h.Load("@stdlib//" + file)
		}},
		Replay: true,
	}
	bench.Base.Options.Recording.Path = "../../tests/data/" + e.Input
	defer bench.Close()
	r, err := Tests(bench)
	if err != nil {
		return "", err
	}
	return run(r, e.Code)
}

// readsSysfs are functions whose examples read sysfs.
var readsSysfs = map[string]bool{"cpu_cores": true, "enumerator": true}

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
				case e.Input != "":
					got, err = runInput(e)
				default:
					got, err = run(r, e.Code)
				}
				if err != nil {
					if readsSysfs[b.FullName()] {
						testkit.Requires(t, testkit.Sysfs)
					}
					t.Fatalf("%s: %v", e.Code, err)
				}
				if e.Output != "" && !e.Live &&
					strings.TrimRight(got, "\n") != strings.TrimRight(e.Output, "\n") {
					t.Errorf("%s:\n got %s\nwant %s", e.Code, got, e.Output)
				}
			})
		}
	}
}

// run executes code and returns its output and the value of its last line.
func run(r *builtins.Registry, code string) (string, error) {
	var out strings.Builder
	h := script.NewHost(script.HostOptions{
		Predeclared: r.Predeclared(),
		Stdlib:      stdlib.FS(),
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
