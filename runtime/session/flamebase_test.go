package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/output"
	"ppscript/runtime/plan"
	"ppscript/runtime/text/diag"
)

// A recording differs from itself in nothing, and from others in the
// stacks that they have more or less of.
func TestFlameBase(t *testing.T) {
	dir := t.TempDir()
	base, svg := filepath.Join(dir, "before.folded"), filepath.Join(dir, "diff.svg")
	run := func(o Options) error {
		t.Helper()
		o.Recording.Path = withStacks
		_, _, err := runJSON(t, Config{Options: o, Reports: []plan.Report{&plan.Log{In: faults()}}})
		return err
	}
	if err := run(Options{Stacks: output.StackFiles{FlameGraph: base}}); err != nil {
		t.Fatal(err)
	}
	picture := func() string {
		t.Helper()
		if err := run(Options{Stacks: output.StackFiles{FlameGraph: svg, FlameBase: base}}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(svg)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// Grown frames are of hue 8, shrunk ones of 215.
	same := picture()
	if !strings.Contains(same, `"diff":true`) || strings.Contains(same, `fill="hsl(215,`) ||
		strings.Contains(same, `fill="hsl(8,8`) {
		t.Error("got frames that changed, want none, in a differential flame graph")
	}
	if err := os.WriteFile(base, []byte("other;main 10\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if other := picture(); !strings.Contains(other, `fill="hsl(8,85%`) {
		t.Error("got no frame that grew, want all of them")
	}
	for _, o := range []Options{
		{Stacks: output.StackFiles{FlameGraph: svg, FlameBase: filepath.Join(dir, "none")}},
		{Stacks: output.StackFiles{FlameGraph: base, FlameBase: base}},
	} {
		if err := run(o); diag.HintOf(err) == "" {
			t.Errorf("%+v: got error %v, want one with a hint", o, err)
		}
	}
}
