package host

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// FuzzFmt: any template gives text or an error that says something; a
// template without braces is itself.
func FuzzFmt(f *testing.F) {
	for _, s := range []string{
		"{}", "{:>8.2f}", "{0} {1}", "{{}}", "{:{}}", "{a.ms:.1us}", "{!r:>5}", "{:=+#012_x}", "}{",
		"{:é>9}", "{:.3MiB}",
	} {
		f.Add(s)
	}
	args := starlark.Tuple{
		starlark.MakeInt(255), starlark.Float(-1.5), starlark.String("é"), value.Duration(1500),
	}
	named := []starlark.Tuple{{starlark.String("a"), value.Duration(2500)}}
	f.Fuzz(func(t *testing.T, template string) {
		fm := formatter{args: args, named: named}
		got, err := fm.format(template, 0)
		switch {
		case err != nil && (err.Error() == "" || got != ""):
			t.Fatalf("%q: got %q and error %q", template, got, err)
		case !strings.ContainsAny(template, "{}") && (err != nil || got != template):
			t.Fatalf("%q: got %q, %v", template, got, err)
		case err == nil && utf8.ValidString(template) && !utf8.ValidString(got):
			t.Fatalf("%q: got invalid text %q", template, got)
		}
	})
}
