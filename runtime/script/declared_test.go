package script

import (
	"slices"
	"testing"

	"ppscript/runtime/script/option"
)

func TestDeclaredOptions(t *testing.T) {
	set := DeclaredOptions("x.star", `
print("this must not run")
extra = {"z": 1}
opts = options(
    pid = opt.int(required = True, help = "the process"),
    by = opt.choice(["comm", "pid"], "comm", short = "b"),
    each = opt.flag(help = "all"),
    events = opt.events(short = "e"),
    files = opt.args(metavar = "FILE"),
    **extra
)
`)
	if set == nil || len(set.Options) != 5 {
		t.Fatalf("got %+v, want five options", set)
	}
	o := set.Options
	if o[0].Name != "pid" || o[0].Type != option.Int || o[0].Help != "the process" || o[1].Short != "b" ||
		!slices.Equal(o[1].Choices, []string{"comm", "pid"}) || o[2].Type != option.Flag ||
		o[3].Type != option.Events || !o[4].Positional {
		t.Errorf("got %+v", o)
	}
	for _, text := range []string{
		"", "opts = 1", "opts = options(", "opts = options(a = b, c = d.e(), f = opt.int)",
	} {
		if set := DeclaredOptions("x.star", text); set != nil && len(set.Options) > 0 {
			t.Errorf("%q: got %+v", text, set)
		}
	}
}
