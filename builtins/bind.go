package builtins

import (
	"fmt"
	"strings"

	"ppscript/runtime/script"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// This file matches the arguments of a call with the declaration. Starlark's
// UnpackArgs would need the signature a second time, in Go, and its messages
// have neither types like "duration" nor hints.

// bind checks args and kwargs against b.Params.
func (b *Builtin) bind(t *starlark.Thread, recv starlark.Value, args starlark.Tuple,
	kwargs []starlark.Tuple) (*Call, error) {
	c := &Call{Thread: t, Builtin: b, Receiver: recv, args: make([]starlark.Value, len(b.Params))}
	pos := 0
	for i := range b.Params {
		p := &b.Params[i]
		if p.Rest == "*" {
			for ; pos < len(args); pos++ {
				v, err := b.check(p, args[pos], &script.ArgError{Index: pos})
				if err != nil {
					return nil, err
				}
				c.Rest = append(c.Rest, v)
			}
		}
		if p.Rest != "" || p.Named || pos >= len(args) {
			continue
		}
		v, err := b.check(p, args[pos], &script.ArgError{Index: pos})
		if err != nil {
			return nil, err
		}
		c.args[i] = v
		pos++
	}
	if pos < len(args) {
		return nil, b.tooMany(len(args), pos)
	}
	for _, kv := range kwargs {
		if err := b.keyword(c, string(kv[0].(starlark.String)), kv[1]); err != nil {
			return nil, err
		}
	}
	var missing []string
	for i := range b.Params {
		if p := &b.Params[i]; p.Required && p.Rest == "" && c.args[i] == nil {
			missing = append(missing, p.Name)
		}
	}
	if missing != nil {
		return nil, b.usage(fmt.Errorf("missing argument %s", strings.Join(missing, ", ")))
	}
	return c, c.agree()
}

// agree checks that each argument with Param.Like has the same kind as the
// argument that Like names.
func (c *Call) agree() error {
	for i, p := range c.Builtin.Params {
		if p.Like == "" || !c.Has(p.Name) {
			continue
		}
		if err := c.Builtin.alike(&p, c.args[i].Type(), c.Value(p.Like).Type()); err != nil {
			return c.blame(p.Name, err, "")
		}
	}
	return nil
}

// alike is an error if typ, the type of the argument for p, is not of the same kind as like, the
// type of the argument that p.Like names.
func (b *Builtin) alike(p *Param, typ, like string) error {
	number := func(typ string) string {
		if typ == "float" {
			return "int"
		}
		return typ
	}
	if number(typ) == number(like) {
		return nil
	}
	return fmt.Errorf("got %s, want %s, as %s is", typ, like, p.Like)
}

// Refuses implements frontend.HasNative: it checks arguments like bind, but of most of them only
// the type is known, or nothing.
func (f *function) Refuses(args []frontend.ArgType) error {
	b := f.decl
	types := map[string]string{}
	given := map[string]bool{}
	check := func(p *Param, name string, a frontend.ArgType) error {
		typ := a.Type
		given[p.Name], types[p.Name] = true, typ
		if a.Value != nil && p.Type.takes(typ) {
			_, err := b.check(p, a.Value, &script.ArgError{})
			return err
		}
		if typ == "" || typ == "NoneType" && !p.Required && p.Rest == "" || p.Type.takes(typ) {
			return nil
		}
		return &diag.Error{Op: b.FullName(), Subject: name, Hint: b.helpHint(),
			Cause: fmt.Errorf("got %s, want %s", typ, p.Type.Name)}
	}
	positional, next := b.positional(), 0
	for _, a := range args {
		var p *Param
		switch {
		case a.Name != "":
			if p = b.named(a.Name); p == nil {
				return b.usage(fmt.Errorf("no parameter %s", a.Name))
			}
		case next == len(positional):
			return b.usage(fmt.Errorf("got more than %d positional arguments", next))
		default:
			if p = positional[next]; p.Rest == "" {
				next++
			}
		}
		name := a.Name
		if name == "" {
			name = p.Name
		}
		if err := check(p, name, a); err != nil {
			return err
		}
	}
	for i := range b.Params {
		p := &b.Params[i]
		if p.Required && p.Rest == "" && !given[p.Name] {
			return b.usage(fmt.Errorf("missing argument %s", p.Name))
		}
		if p.Like == "" || types[p.Name] == "" || types[p.Like] == "" || types[p.Name] == "NoneType" {
			continue
		}
		if text := "string"; types[p.Name] == text && types[p.Like] != "int" && types[p.Like] != "float" ||
			types[p.Like] == text && types[p.Name] != "int" && types[p.Name] != "float" {
			continue // a text such as "10ms" may be such a quantity
		}
		if err := b.alike(p, types[p.Name], types[p.Like]); err != nil {
			return &diag.Error{Op: b.FullName(), Subject: p.Name, Hint: b.helpHint(), Cause: err}
		}
	}
	return nil
}

// positional returns the parameters that can be given by position, in order.
func (b *Builtin) positional() (list []*Param) {
	for i := range b.Params {
		if p := &b.Params[i]; !p.Named && p.Rest != "**" {
			list = append(list, p)
		}
	}
	return list
}

// named returns the parameter that takes a keyword argument with a name; nil if
// there is none.
func (b *Builtin) named(name string) (found *Param) {
	for i := range b.Params {
		switch p := &b.Params[i]; {
		case p.Name == name && p.Rest == "":
			return p
		case p.Rest == "**":
			found = p
		}
	}
	return found
}

// keyword binds a named argument: to the parameter of that name, wherever it
// is declared, else to the one that takes all others.
func (b *Builtin) keyword(c *Call, name string, v starlark.Value) error {
	var others *Param
	for i := range b.Params {
		p := &b.Params[i]
		if p.Rest == "**" {
			others = p
		}
		if p.Name != name || p.Rest != "" {
			continue
		}
		if c.args[i] != nil {
			return &script.ArgError{Keyword: name, InName: true,
				Err: b.usage(fmt.Errorf("argument %s is given twice", name))}
		}
		v, err := b.check(p, v, &script.ArgError{Keyword: name})
		if err != nil {
			return err
		}
		c.args[i] = v
		if c.named == nil {
			c.named = make([]bool, len(b.Params))
		}
		c.named[i] = true
		return nil
	}
	if others != nil {
		v, err := b.check(others, v, &script.ArgError{Keyword: name})
		if err != nil {
			return err
		}
		c.KW = append(c.KW, starlark.Tuple{starlark.String(name), v})
		return nil
	}
	var names []string
	for _, p := range b.Params {
		if p.Rest == "" {
			names = append(names, p.Name)
		}
	}
	return &script.ArgError{Keyword: name, InName: true,
		Err: b.usage(fmt.Errorf("no parameter %s%s", name, diag.DidYouMean(name, names)))}
}

// check converts v to p's type. None means absent, and is accepted for
// parameters that are not required.
func (b *Builtin) check(p *Param, v starlark.Value, at *script.ArgError) (starlark.Value, error) {
	if v == starlark.None && !p.Required && p.Rest == "" {
		return v, nil
	}
	if p.Type.Name == Any.Name {
		// A builtin that takes any value may print it, so the value must not be
		// nested too deeply.
		if err := script.Walkable(v); err != nil {
			at.Err = &diag.Error{Op: b.FullName(), Subject: p.Name, Cause: err, Hint: b.helpHint()}
			return nil, at
		}
	}
	if w, ok := p.Type.accept(v); ok {
		return w, nil
	}
	hint := ""
	if p.Type.hint != nil {
		hint = p.Type.hint(v)
	}
	if hint == "" {
		hint = b.helpHint()
	}
	subject := p.Name
	if p.Rest == "**" {
		subject = at.Keyword
	}
	at.Err = &diag.Error{Op: b.FullName(), Subject: subject, Hint: hint,
		Cause: fmt.Errorf("got %s, want %s", describe(v), p.Type.Name)}
	return nil, at
}

// describe returns a text for a value in a message: its type, and the value if
// it is short.
func describe(v starlark.Value) string {
	switch v.(type) {
	case starlark.NoneType:
		return "None"
	case starlark.String, starlark.Int, starlark.Float, starlark.Bool, value.Duration, value.Size:
		if s := v.String(); len(s) <= 40 {
			return v.Type() + " " + s
		}
	}
	return v.Type()
}

// helpHint returns the hint for errors without a hint of their own.
func (b *Builtin) helpHint() string {
	if b.Type != "" {
		return fmt.Sprintf("read help(%q)", b.FullName())
	}
	return "read help(" + b.FullName() + ")"
}

func (b *Builtin) usage(cause error) error {
	return &diag.Error{Op: b.FullName(), Cause: cause, Hint: "write " + b.Signature()}
}

func (b *Builtin) tooMany(got, want int) error {
	return &script.ArgError{Index: want,
		Err: b.usage(fmt.Errorf("got %d positional arguments, want at most %d", got, want))}
}
