package builtins

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// A Registry has all declarations, and makes names, help and stubs from them.
type Registry struct {
	all   []*Builtin
	byKey map[string]*Builtin
}

// NewRegistry collects declarations and adds the builtin help. An incomplete
// declaration is an error, so that the reference has no gaps.
func NewRegistry(groups ...[]*Builtin) (*Registry, error) {
	r := &Registry{byKey: map[string]*Builtin{}}
	r.all = append(slices.Concat(groups...), r.help())
	for _, b := range r.all {
		if err := b.complete(); err != nil {
			return nil, fmt.Errorf("BUG: builtin %s: %w", b.FullName(), err)
		}
		if _, dup := r.byKey[b.FullName()]; dup {
			return nil, fmt.Errorf("BUG: builtin %s: declared twice", b.FullName())
		}
		r.byKey[b.FullName()] = b
	}
	return r, nil
}

// All returns the declarations in the given order.
func (r *Registry) All() []*Builtin { return r.all }

// Find returns the declaration of "join", "agg.count" or "stream.hist"; a
// bare name also finds a method, if only one type has it.
func (r *Registry) Find(name string) (*Builtin, bool) {
	if b, ok := r.byKey[name]; ok {
		return b, true
	}
	var found *Builtin
	for _, b := range r.all {
		if b.Type != "" && b.Name == name {
			if found != nil {
				return nil, false
			}
			found = b
		}
	}
	return found, found != nil
}

// Names lists the full names, sorted.
func (r *Registry) Names() []string {
	names := make([]string, 0, len(r.all))
	for _, b := range r.all {
		names = append(names, b.FullName())
	}
	slices.Sort(names)
	return names
}

// Spaces lists the namespaces: "agg" of "agg.count".
func (r *Registry) Spaces() []string {
	var names []string
	for _, b := range r.all {
		if space, _, dotted := strings.Cut(b.Name, "."); dotted && !slices.Contains(names, space) {
			names = append(names, space)
		}
	}
	return names
}

// Predeclared returns the functions and constants for scripts. Names with a dot
// become members of a namespace (agg.count).
func (r *Registry) Predeclared() starlark.StringDict {
	d := starlark.StringDict{}
	spaces := map[string]*namespace{}
	for _, b := range r.all {
		if b.Type != "" {
			continue
		}
		v := b.constant()
		if v == nil {
			v = &function{decl: b}
		}
		space, name, dotted := strings.Cut(b.Name, ".")
		if !dotted {
			d[b.Name] = v
			continue
		}
		ns := spaces[space]
		if ns == nil {
			ns = &namespace{name: space, members: starlark.StringDict{}}
			spaces[space] = ns
			d[space] = ns
		}
		ns.members[name] = v
	}
	return d
}

// complete is an error if a declaration lacks a part.
func (b *Builtin) complete() error {
	for _, f := range []struct{ what, text string }{
		{"name", b.Name}, {"group", string(b.Group)}, {"summary", b.Summary},
	} {
		if f.text == "" {
			return fmt.Errorf("no %s", f.what)
		}
	}
	if !slices.Contains(groups, b.Group) {
		return fmt.Errorf("unknown group %q", b.Group)
	}
	if b.constant() != nil {
		return nil
	}
	if b.Impl == nil && b.Value == nil {
		return fmt.Errorf("no implementation")
	}
	for _, f := range []struct{ what, text string }{
		{"result", b.Result}, {"errors", b.Errors}, {"source", b.Source}, {"cost", b.Cost},
	} {
		if f.text == "" {
			return fmt.Errorf("no %s", f.what)
		}
	}
	if len(b.Examples) == 0 {
		return fmt.Errorf("no example")
	}
	optional := ""
	for _, p := range b.Params {
		switch {
		case p.Type.accept == nil:
			return fmt.Errorf("parameter %s: no type", p.Name)
		case p.Doc == "":
			return fmt.Errorf("parameter %s: no doc", p.Name)
		case p.Rest == "" && !p.Required:
			optional = p.Name
		case p.Required && !p.Named && optional != "":
			return fmt.Errorf("required parameter %s follows optional %s", p.Name, optional)
		}
	}
	return nil
}
