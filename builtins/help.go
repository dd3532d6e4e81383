package builtins

import (
	"fmt"
	"strings"

	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// help returns the text of help(b), which is also the builtin's entry in the
// reference.
func (b *Builtin) help() string {
	var s strings.Builder
	s.WriteString(b.Signature() + "\n")
	fmt.Fprintf(&s, "    %s\n", b.Summary)
	name, typ := len("Example"), 0
	for i := range b.Params {
		p := &b.Params[i]
		name = max(name, len(p.Rest+p.Name))
		typ = max(typ, len(p.typeText()))
	}
	for i := range b.Params {
		p := &b.Params[i]
		fmt.Fprintf(&s, "    %-*s %-*s   %s\n", name, p.Rest+p.Name, typ, p.typeText(), p.Doc)
	}
	for _, l := range []struct{ label, text string }{
		{"Result", b.Result}, {"Errors", b.Errors}, {"Source", b.Source}, {"Cost", b.Cost},
	} {
		if l.text != "" {
			fmt.Fprintf(&s, "    %-*s %s\n", name, l.label, l.text)
		}
	}
	indent := strings.Repeat(" ", 5+name)
	for _, e := range b.Examples {
		label := fmt.Sprintf("    %-*s ", name, "Example")
		for i, line := range strings.Split(e.Code, "\n") {
			if i > 0 {
				label = indent
			}
			s.WriteString(label + line + "\n")
		}
		for _, line := range e.outputLines() {
			s.WriteString(strings.TrimRight(indent+"  "+line, " ") + "\n")
		}
	}
	return s.String()
}

func (e *Example) outputLines() []string {
	if e.Output == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(e.Output, "\n"), "\n")
}

func (p *Param) typeText() string {
	if p.Unit != "" {
		return p.Type.Name + ", " + p.Unit
	}
	return p.Type.Name
}

// help declares the builtin help, which needs the registry.
func (r *Registry) help() *Builtin {
	return &Builtin{
		Name:    "help",
		Group:   Hosted,
		Summary: "Explains a builtin, a function of a script, or lists what there is.",
		Params: []Param{{Name: "topic", Type: Any, Default: Text("all names"),
			Doc: "a builtin, its name, or a function"}},
		Returns: "help",
		Result:  "the text, which print and the REPL show",
		Errors:  "no such name",
		Source:  "computed in ppscript; any kernel; no privilege",
		Cost:    "none for events",
		Examples: []Example{{Code: `help("ms")`,
			Output: "ms = 1ms\n    One millisecond.\n    Example 10 * ms\n              10ms\n"}},
		Impl: func(c *Call) (starlark.Value, error) {
			if !c.Has("topic") {
				return HelpText(r.Overview()), nil
			}
			text, ok := r.helpOf(c.Value("topic"))
			if !ok {
				name := strings.Trim(c.Value("topic").String(), `"`)
				return nil, c.Error("topic",
					fmt.Errorf("no help for %s%s", name, diag.DidYouMean(name, r.Names())),
					"list the names: help()")
			}
			return HelpText(text), nil
		},
	}
}

// HelpText is the value of help(...): text that is printed without quotes.
type HelpText string

func (h HelpText) String() string        { return strings.TrimRight(string(h), "\n") }
func (h HelpText) Type() string          { return "help" }
func (h HelpText) Freeze()               {}
func (h HelpText) Truth() starlark.Bool  { return h != "" }
func (h HelpText) Hash() (uint32, error) { return starlark.String(h).Hash() }

// helpOf returns the help for a value; a string is taken as a name.
func (r *Registry) helpOf(v starlark.Value) (string, bool) {
	switch v := v.(type) {
	case *function:
		return v.decl.help(), true
	case *namespace:
		return r.members(v.name), true
	case *starlark.Function:
		return scriptHelp(v), true
	case starlark.String:
		if b, ok := r.Find(string(v)); ok {
			return b.help(), true
		}
		if text := r.members(string(v)); text != "" {
			return text, true
		}
	}
	for _, b := range r.all {
		if c := b.constant(); c != nil && c == v {
			return b.help(), true
		}
	}
	if text := r.members(strings.ReplaceAll(v.Type(), " ", "_")); text != "" {
		return text, true
	}
	return "", false
}

// scriptHelp returns the signature and docstring of a function of the script.
func scriptHelp(f *starlark.Function) string {
	var params []string
	for i := range f.NumParams() {
		name, _ := f.Param(i)
		if d := f.ParamDefault(i); d != nil {
			name += " = " + d.String()
		}
		params = append(params, name)
	}
	s := f.Name() + "(" + strings.Join(params, ", ") + ")\n"
	for _, l := range strings.Split(strings.TrimSpace(f.Doc()), "\n") {
		if l = strings.TrimSpace(l); l != "" {
			s += "    " + l + "\n"
		}
	}
	return s + "    " + f.Position().String() + "\n"
}

// members lists the members of a namespace or type; "" if there are none.
func (r *Registry) members(name string) string {
	var s strings.Builder
	for _, b := range r.all {
		if strings.HasPrefix(b.FullName(), name+".") {
			fmt.Fprintf(&s, "%-24s %s\n", b.FullName(), b.Summary)
		}
	}
	return s.String()
}

// Overview lists every builtin with its summary, by group.
func (r *Registry) Overview() string {
	var s strings.Builder
	for _, g := range groups {
		first := true
		for _, b := range r.all {
			if b.Group != g {
				continue
			}
			if first {
				fmt.Fprintf(&s, "%s\n", g)
				first = false
			}
			fmt.Fprintf(&s, "  %-24s %s\n", b.FullName(), b.Summary)
		}
	}
	return s.String()
}

// HelpOfName returns the help for a name.
func (r *Registry) HelpOfName(name string) (string, bool) { return r.helpOf(starlark.String(name)) }

// HelpOf returns the help for a value: the signature and docstring of a function, the methods of
// any other value. ok is false if there is no help.
func (r *Registry) HelpOf(v starlark.Value) (text string, ok bool) {
	if _, text := v.(starlark.String); text {
		return "", false // a string is a value here, not a name
	}
	return r.helpOf(v)
}
