package lang

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/builtins/all"
	"ppscript/runtime/script"
	"ppscript/runtime/script/option"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"
	"ppscript/stdlib"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

func TestLanguage(t *testing.T) {
	files, err := filepath.Glob("*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no chunks: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(file, ".star"), func(t *testing.T) {
			for _, c := range chunks(string(text)) {
				c.run(t, file)
			}
		})
	}
}

// A chunk is one program, with empty lines before it so that its line numbers
// are those of the file.
type chunk struct {
	text string
	want map[int]string // expected errors, by line
}

func chunks(text string) []chunk {
	var list []chunk
	cur := chunk{want: map[int]string{}}
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimRight(line, " ") == "---" {
			list = append(list, cur)
			cur = chunk{text: strings.Repeat("\n", i+1), want: map[int]string{}}
			continue
		}
		if _, want, ok := strings.Cut(line, "###"); ok {
			cur.want[i+1] = strings.TrimSpace(want)
		}
		cur.text += line + "\n"
	}
	return append(list, cur)
}

func (c chunk) run(t *testing.T, file string) {
	t.Helper()
	r, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	names := r.Predeclared()
	names["assert"] = assertions
	names["values"] = starlark.NewBuiltin("values", values)
	names["play"] = starlark.NewBuiltin("play", play)
	h := script.NewHost(script.HostOptions{
		Stdlib:      stdlib.FS(),
		Predeclared: names,
		Print:       func(msg string) { t.Log(msg) },
		Limits:      limits.Policy{Steps: 1_000_000},
	})
	_, err = h.LoadSource(file, c.text)
	got := map[int]string{}
	var d *diag.Error
	if err != nil {
		if !errors.As(err, &d) || d.Pos == "" {
			t.Errorf("%s: error without a position: %v", file, err)
			return
		}
		if d.Excerpt == "" {
			t.Errorf("%s: error without an excerpt: %v", file, err)
		}
		// Further errors are in the excerpt of the first, one on each line.
		got[lineOf(d.Pos)] = d.Error() + " hint: " + d.Hint
		for _, l := range strings.Split(d.Excerpt, "\n") {
			if strings.HasPrefix(l, file+":") {
				got[lineOf(l)] += l
			}
		}
	}
	for line, want := range c.want {
		if !strings.Contains(got[line], want) {
			t.Errorf("%s:%d: got error %q, want %q", file, line, got[line], want)
		}
		delete(got, line)
	}
	if err != nil && c.want[lineOf(d.Pos)] == "" {
		t.Errorf("unexpected: %v\n%s\nhint: %s", err, d.Excerpt, d.Hint)
	}
}

// lineOf returns the line of file:line:col.
func lineOf(pos string) int {
	n := 0
	_, rest, _ := strings.Cut(pos, ":")
	fmt.Sscanf(rest, "%d", &n)
	return n
}

var assertions = starlarkstruct.FromStringDict(starlark.String("assert"), starlark.StringDict{
	"eq":    starlark.NewBuiltin("assert.eq", assertEq),
	"ne":    starlark.NewBuiltin("assert.ne", assertNe),
	"true":  starlark.NewBuiltin("assert.true", assertTrue),
	"fails": starlark.NewBuiltin("assert.fails", assertFails),
})

func assertEq(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var got, want starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &got, &want); err != nil {
		return nil, err
	}
	same, err := starlark.Equal(got, want)
	if err == nil && (!same || got.Type() != want.Type()) {
		err = fmt.Errorf("got %s %s, want %s %s", got.Type(), got, want.Type(), want)
	}
	return starlark.None, err
}

func assertNe(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, y starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &x, &y); err != nil {
		return nil, err
	}
	same, err := starlark.Equal(x, y)
	if err == nil && same {
		err = fmt.Errorf("got %s twice, want different values", x)
	}
	return starlark.None, err
}

func assertTrue(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &x); err != nil {
		return nil, err
	}
	if !x.Truth() {
		return nil, fmt.Errorf("got %s, want a true value", x)
	}
	return starlark.None, nil
}

func assertFails(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn starlark.Callable
	var want string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 2, &fn, &want); err != nil {
		return nil, err
	}
	v, err := starlark.Call(t, fn, nil, nil)
	switch {
	case err == nil:
		return nil, fmt.Errorf("got %s, want an error with %q", v, want)
	case !strings.Contains(err.Error(), want):
		return nil, fmt.Errorf("got error %q, want %q", err, want)
	}
	return starlark.None, nil
}

// values(opts, "--than 10ms -n 3 a b") returns the value that main would get.
func values(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var decl starlark.Value
	line := ""
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &decl, &line); err != nil {
		return nil, err
	}
	set, ok := decl.(*option.Set)
	if !ok {
		return nil, fmt.Errorf("got %s, want options", decl.Type())
	}
	given := map[string][]string{}
	var rest []string
	words := strings.Fields(line)
	for i := 0; i < len(words); i++ {
		name := strings.TrimLeft(words[i], "-")
		if name == words[i] {
			rest = append(rest, words[i])
			continue
		}
		name, text, glued := strings.Cut(name, "=")
		if o, ok := set.Find(name); ok {
			name = o.Name // a letter and a name are one option
			if !glued && o.Type == option.Flag {
				text = "true"
			} else if !glued && i+1 < len(words) {
				i++
				text = words[i]
			}
		}
		given[name] = append(given[name], text)
	}
	return set.Values(given, rest)
}
