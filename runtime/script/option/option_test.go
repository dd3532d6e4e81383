package option

import (
	"strings"
	"testing"

	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// FuzzOption: a text is a value of the option's type or a Usage error with
// the option's name; a value's own text gives the value again.
func FuzzOption(f *testing.F) {
	for _, s := range []string{
		"1", "10ms", "1.5us", "64k", "-1", "0x10", "1e400", "nan", "", "a,b", "99999999999999999999s",
		"µs", "true",
	} {
		f.Add(s)
	}
	types := []Type{String, Int, Float, Flag, Duration, Size, Choice, Events}
	f.Fuzz(func(t *testing.T, text string) {
		for _, typ := range types {
			for _, list := range []bool{false, true} {
				o := Option{
					Name: "x", Type: typ, List: list, Choices: []string{"a", "b"}, Number: Number{Bare: 1e6},
				}
				v, err := o.Parse(text)
				if err != nil {
					if diag.ClassOf(err) != diag.Usage || !strings.Contains(err.Error(), "--x") {
						t.Fatalf("%s %q: got %v", typ, text, err)
					}
					continue
				}
				if list {
					if v.(starlark.Tuple).Len() == 0 {
						t.Fatalf("%s %q: got an empty list", typ, text)
					}
					continue
				}
				if w, err := o.Convert(v); err != nil || w != v {
					t.Fatalf("%s %q: value %v converts to %v, %v", typ, text, v, w, err)
				}
			}
		}
	})
}

func TestOptionTexts(t *testing.T) {
	one := int64(1)
	f := func(o Option, flag, placeholder, deflt string) {
		t.Helper()
		if o.Flag() != flag || o.Placeholder() != placeholder || o.DefaultText() != deflt {
			t.Errorf("got %q %q %q, want %q %q %q", o.Flag(), o.Placeholder(), o.DefaultText(), flag,
				placeholder, deflt)
		}
	}
	f(Option{Name: "only_than", Type: Duration, Number: Number{Bare: 1}, Default: value.Duration(5e6)},
		"only-than", "TIME", "5ms")
	f(Option{Name: "i", Type: Duration, Number: Number{Bare: 1e6}}, "i", "TIME (default unit ms)", "")
	f(Option{Name: "n", Type: Int, Number: Number{Min: &one}, Default: starlark.MakeInt(3)}, "n", "N", "3")
	f(Option{Name: "by", Type: Choice, Choices: []string{"a", "b"}, Default: starlark.String("a")}, "by",
		"a|b", "a")
	f(Option{Name: "v", Type: Flag, Default: starlark.False}, "v", "", "")
	f(Option{
		Name:    "l",
		List:    true,
		Type:    String,
		Metavar: "NAME",
		Default: starlark.Tuple{starlark.String("x"), starlark.String("y")},
	}, "l", "NAME", "x,y")
}
