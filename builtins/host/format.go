package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// This file formats templates: text with {fields}. spec.go formats one value.

func fmtBuiltin() *b.Builtin {
	return &b.Builtin{
		Name: "fmt", Group: b.Hosted, Summary: "Formats values with Python's format strings.",
		Params: []b.Param{
			{Name: "template", Type: b.String, Required: true, Doc: `text with {}, {0}, {name}, {:>8.2f}, {:.3us}`},
			{Name: "values", Type: b.Any, Rest: "*", Doc: "values of {} and {0}"},
			{Name: "named", Type: b.Any, Rest: "**", Doc: "values of {name}"},
		},
		Returns: "string",
		Result:  "the text; durations take a unit instead of a type: {:.3us} is 1.500 for 1500 ns, likewise sizes",
		Errors:  "a value is missing; the format does not suit the value",
		Source:  source, Cost: "about a microsecond; not for every event",
		Examples: []b.Example{
			{Code: `fmt("{:>8} {:.2f} {:x}", "bash", 0.5, 255)`, Output: `"    bash 0.50 ff"`},
			{Code: `fmt("{comm:<6}|{d:.1ms}|{d}", comm = "init", d = 2500 * us)`, Output: `"init  |2.5|2.5ms"`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			f := formatter{args: c.Rest, named: c.KW}
			text, err := f.format(c.String("template"), 0)
			if err != nil {
				return nil, c.Error("template", err, hintOf(err))
			}
			return starlark.String(text), nil
		},
	}
}

func hintOf(err error) string {
	if h := diag.HintOf(err); h != "" {
		return h
	}
	return `write for example fmt("{:>8} {:.2f}", name, value); a brace itself is {{ or }}`
}

// A formatter formats one template.
type formatter struct {
	args   starlark.Tuple
	named  []starlark.Tuple
	next   int  // index of the value for the next {}
	auto   bool // {} was used
	manual bool // {0} was used
}

// format formats a template. depth is 1 for a template inside a spec, such as
// {:>{w}}.
func (f *formatter) format(s string, depth int) (string, error) {
	var out strings.Builder
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			out.WriteString(s)
			return out.String(), nil
		}
		out.WriteString(s[:i])
		if i+1 < len(s) && s[i+1] == s[i] && depth == 0 {
			out.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		if s[i] == '}' {
			return "", fmt.Errorf("single } in the template")
		}
		end := matching(s[i:])
		if end < 0 {
			return "", fmt.Errorf("{ without }")
		}
		if depth > 1 {
			return "", fmt.Errorf("fields are nested too deeply")
		}
		text, err := f.field(s[i+1:i+end], depth)
		if err != nil {
			return "", err
		}
		if out.Len()+len(text) > script.MaxText {
			return "", fmt.Errorf("the text would have more than %d bytes", script.MaxText)
		}
		out.WriteString(text)
		s = s[i+end+1:]
	}
}

// matching returns the index of the brace that closes s[0]; -1 if there is
// none.
func matching(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// field formats the content of braces: name, !conversion, :spec.
func (f *formatter) field(s string, depth int) (string, error) {
	name, text, _ := strings.Cut(s, ":")
	name, conv, converted := strings.Cut(name, "!")
	v, err := f.value(name)
	if err != nil {
		return "", err
	}
	if converted {
		switch conv {
		case "r":
			v = starlark.String(v.String())
		case "s":
			v = starlark.String(plain(v))
		default:
			return "", fmt.Errorf("unknown conversion !%s; want !r or !s", conv)
		}
	}
	if strings.Contains(text, "{") {
		if text, err = f.format(text, depth+1); err != nil {
			return "", err
		}
	}
	sp, err := parseSpec(text)
	if err != nil {
		return "", err
	}
	out, err := sp.print(v)
	if err != nil {
		return "", fmt.Errorf("{%s}: %w", s, err)
	}
	return out, nil
}

// value returns the value for the name of a field: "", "0", "name" or
// "name.attr".
func (f *formatter) value(name string) (starlark.Value, error) {
	first, attrs, dotted := strings.Cut(name, ".")
	v, err := f.first(first)
	if err != nil || !dotted {
		return v, err
	}
	for _, a := range strings.Split(attrs, ".") {
		x, ok := v.(starlark.HasAttrs)
		if !ok {
			return nil, fmt.Errorf("{%s}: %s has no attributes", name, v.Type())
		}
		w, err := x.Attr(a)
		var none starlark.NoSuchAttrError
		if err != nil && !errors.As(err, &none) {
			return nil, err
		}
		if w == nil || err != nil {
			return nil, fmt.Errorf("{%s}: %s has no attribute %s%s", name, v.Type(),
				a, diag.DidYouMean(a, x.AttrNames()))
		}
		v = w
	}
	return v, nil
}

func (f *formatter) first(name string) (starlark.Value, error) {
	i := f.next
	switch n, err := strconv.ParseUint(name, 10, 16); {
	case name == "":
		f.auto = true
		f.next++
	case err == nil:
		f.manual = true
		i = int(n)
	default:
		var names []string
		for _, kv := range f.named {
			k := string(kv[0].(starlark.String))
			if k == name {
				return kv[1], nil
			}
			names = append(names, k)
		}
		return nil, fmt.Errorf("no value named %s%s", name, diag.DidYouMean(name, names))
	}
	if f.auto && f.manual {
		return nil, fmt.Errorf("{} and {0} cannot be mixed")
	}
	if i >= len(f.args) {
		return nil, fmt.Errorf("field %d has no value: got %d values", i+1, len(f.args))
	}
	return f.args[i], nil
}

// plain returns the text of a value as print shows it: strings without quotes.
func plain(v starlark.Value) string {
	if s, ok := starlark.AsString(v); ok {
		return s
	}
	return v.String()
}
