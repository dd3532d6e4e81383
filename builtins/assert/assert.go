// Package assert declares the checks for tests of scripts, such as assert.eq. A
// failed check ends its test, and the message shows the line.
package assert

import (
	"fmt"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

const computed = "computed in ppscript; any kernel; no privilege"

// Builtins declares the checks.
func Builtins() []*b.Builtin { return []*b.Builtin{eq(), ne(), truth(), contains(), fails()} }

func check(name, summary, failure string, params []b.Param, example string,
	impl func(c *b.Call) error) *b.Builtin {
	params = append(params, b.Param{Name: "msg", Type: b.String, Doc: "what to say in front if it fails"})
	return &b.Builtin{
		Name:     "assert." + name,
		Group:    b.Testing,
		Summary:  summary,
		Params:   params,
		Returns:  "None",
		Result:   "nothing, or the end of the test",
		Errors:   failure,
		Source:   computed,
		Cost:     "none for events",
		Examples: []b.Example{{Code: example}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			err := impl(c)
			if err == nil {
				return starlark.None, nil
			}
			op := c.Builtin.Name
			if m := c.String("msg"); m != "" {
				op = m
			}
			return nil, &diag.Error{
				Op: op, Cause: err, Hint: "change the script or, if this is what it should do, the test",
			}
		},
	}
}

func pair() []b.Param {
	return []b.Param{
		{Name: "got", Type: b.Any, Required: true, Doc: "the value to check"},
		{Name: "want", Type: b.Any, Required: true, Doc: "what it should be"},
	}
}

func eq() *b.Builtin {
	return check("eq", "Two values are equal, and of one type.", "they differ: both are shown", pair(),
		"assert.eq(1 + 1, 2)", func(c *b.Call) error {
			got, want := c.Value("got"), c.Value("want")
			same, err := starlark.Equal(got, want)
			if err == nil && (!same || got.Type() != want.Type()) {
				err = differ(got, want)
			}
			return err
		})
}

// differ makes the error for two different values. For lists it shows the first
// different element.
func differ(got, want starlark.Value) error {
	g, gok := got.(*starlark.List)
	w, wok := want.(*starlark.List)
	if gok && wok && g.Len()+w.Len() > 2 {
		for i := range min(g.Len(), w.Len()) {
			if same, err := starlark.Equal(g.Index(i), w.Index(i)); err != nil || !same {
				return fmt.Errorf("member %d: got %s, want %s", i, g.Index(i), w.Index(i))
			}
		}
		if g.Len() != w.Len() {
			return fmt.Errorf("got %d members, want %d: got %s, want %s", g.Len(), w.Len(), got, want)
		}
	}
	if got.String() == want.String() {
		return fmt.Errorf("got %s %s, want %s %s", got.Type(), got, want.Type(), want)
	}
	return fmt.Errorf("got %s, want %s", got, want)
}

func ne() *b.Builtin {
	return check("ne", "Two values differ.", "they are equal", pair(), "assert.ne(1, 2)",
		func(c *b.Call) error {
			same, err := starlark.Equal(c.Value("got"), c.Value("want"))
			if err == nil && same {
				err = fmt.Errorf("got %s, want anything else", c.Value("got"))
			}
			return err
		})
}

func truth() *b.Builtin {
	params := []b.Param{{Name: "got", Type: b.Any, Required: true, Doc: "the value to check"}}
	return check("true", "A value is true.", "it is false, zero, empty or None", params,
		"assert.true(len([1]) > 0)", func(c *b.Call) error {
			if !c.Value("got").Truth() {
				return fmt.Errorf("got %s, want something true", c.Value("got"))
			}
			return nil
		})
}

func contains() *b.Builtin {
	return check("contains", "A text, list or dict has something in it.", "it has not", pair(),
		`assert.contains("kvm_exit", "exit")`, func(c *b.Call) error {
			got, want := c.Value("got"), c.Value("want")
			if text, ok := starlark.AsString(got); ok {
				part, _ := starlark.AsString(want)
				if part == "" || !strings.Contains(text, part) {
					return fmt.Errorf("no %s in:\n%s", want, text)
				}
				return nil
			}
			it, ok := got.(starlark.Iterable)
			if !ok {
				return fmt.Errorf("got %s, want a text, list or dict", got.Type())
			}
			iter := it.Iterate()
			defer iter.Done()
			for x := starlark.Value(nil); iter.Next(&x); {
				if same, err := starlark.Equal(x, want); err == nil && same {
					return nil
				}
			}
			return fmt.Errorf("no %s in %s", want, got)
		})
}

func fails() *b.Builtin {
	params := []b.Param{
		{Name: "fn", Type: b.Func, Required: true, Doc: "a function without parameters"},
		{Name: "want", Type: b.String, Required: true, Doc: "what the error must say"},
	}
	return check("fails", "A call fails, with the right words.", "it succeeds, or fails with others", params,
		`assert.fails(lambda: dur("soon"), "dur")`, func(c *b.Call) error {
			v, err := starlark.Call(c.Thread, c.Func("fn"), nil, nil)
			switch {
			case err == nil:
				return fmt.Errorf("got %s, want an error with %q", v, c.String("want"))
			case script.Stopped(c.Thread):
				return err
			case !strings.Contains(err.Error(), c.String("want")):
				return fmt.Errorf("got error %q, want %q in it", err, c.String("want"))
			}
			return nil
		})
}
