package script

import (
	"slices"
	"strings"

	"ppscript/runtime/script/option"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Module is one loaded file.
type Module struct {
	Name    string // for messages: the path as given, or @stdlib//...
	Doc     string // the docstring of the file, without its indentation
	Globals starlark.StringDict
	// Main is the function main; nil if the file has none.
	Main starlark.Callable
	// Options is the declaration options(...) among the globals; nil if there
	// is none.
	Options *option.Set
}

// exec runs a parsed file and collects its declarations.
func (h *Host) exec(name string, text string) (*Module, error) {
	tree, err := h.parse(name, text, dialect())
	if err != nil {
		return nil, err
	}
	prog, err := h.program(name, text, tree)
	if err != nil {
		return nil, h.explainStatic(err)
	}
	m := &Module{Name: name, Doc: docOf(tree)}
	t := h.newThread(name, h.opts.Limits.Steps)
	_, err = t.run(func() (starlark.Value, error) {
		var err error
		m.Globals, err = prog.Init(t.Thread, h.names)
		return starlark.None, err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range m.Globals.Keys() {
		if nested(m.Globals[name], h.opts.Limits.Depth) {
			return nil, h.atGlobal(tree, name, deep(&h.opts.Limits, name))
		}
	}
	m.Globals.Freeze()
	return m, m.collect()
}

// collect finds main and options among the globals.
func (m *Module) collect() error {
	if v, ok := m.Globals["main"]; ok {
		fn, ok := v.(starlark.Callable)
		if !ok {
			return &diag.Error{Op: "load", Subject: m.Name,
				Cause: errorf("main: got %s, want a function", v.Type()),
				Hint:  "define it: def main(o):"}
		}
		m.Main = fn
	}
	return m.declared()
}

// declared finds the declaration of options: the global opts if it is one, else
// the only one. Globals whose names begin with an underscore are parts of other
// declarations.
func (m *Module) declared() error {
	if set, ok := m.Globals["opts"].(*option.Set); ok {
		m.Options = set
		return nil
	}
	var names []string
	for _, name := range m.Globals.Keys() {
		if _, ok := m.Globals[name].(*option.Set); ok && !strings.HasPrefix(name, "_") {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
	case 1:
		m.Options = m.Globals[names[0]].(*option.Set)
	default:
		return &diag.Error{Op: "load", Subject: m.Name,
			Cause: errorf("%d option declarations: %s", len(names), strings.Join(names, ", ")),
			Hint:  "name the one that the script has: opts = options(...)"}
	}
	return nil
}

// docOf returns the file's docstring with common indentation removed.
func docOf(tree *syntax.File) string {
	if len(tree.Stmts) == 0 {
		return ""
	}
	stmt, ok := tree.Stmts[0].(*syntax.ExprStmt)
	if !ok {
		return ""
	}
	lit, ok := stmt.X.(*syntax.Literal)
	if !ok || lit.Token != syntax.STRING {
		return ""
	}
	text, _ := lit.Value.(string)
	return dedent(text)
}

// dedent removes the indentation that all lines after the first share, and
// blank lines at both ends.
func dedent(text string) string {
	lines := strings.Split(text, "\n")
	common := -1
	for _, l := range lines[1:] {
		body := strings.TrimLeft(l, " \t")
		if body == "" {
			continue
		}
		if n := len(l) - len(body); common < 0 || n < common {
			common = n
		}
	}
	for i, l := range lines {
		if i == 0 {
			l = strings.TrimLeft(l, " \t")
		} else if common > 0 && len(l) >= common {
			l = l[common:]
		}
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// A NamedFunc is a function of a module.
type NamedFunc struct {
	Name string
	Pos  string // its position, file:line:col
	Fn   starlark.Callable
}

// Functions lists the functions defined in the module itself whose names begin
// with prefix, in the order of the file.
func (m *Module) Functions(prefix string) []NamedFunc {
	var list []NamedFunc
	for name, v := range m.Globals {
		fn, ok := v.(*starlark.Function)
		if ok && strings.HasPrefix(name, prefix) {
			list = append(list, NamedFunc{Name: name, Pos: fn.Position().String(), Fn: fn})
		}
	}
	slices.SortFunc(list, func(a, b NamedFunc) int {
		x, y := a.Fn.(*starlark.Function).Position(), b.Fn.(*starlark.Function).Position()
		if x.Line != y.Line {
			return int(x.Line) - int(y.Line)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// Serve is like Run, for a module that the running module uses as a part of its
// own run. A module cannot use itself.
func (h *Host) Serve(m *Module, o *option.Values) (starlark.Value, error) {
	if slices.Contains(h.loaded.serving, m) {
		return nil, diag.Errorf(diag.Run, "profiler", m.Name, "is a source of itself").
			WithHint("name another profiler")
	}
	h.loaded.serving = append(h.loaded.serving, m)
	defer func() { h.loaded.serving = h.loaded.serving[:len(h.loaded.serving)-1] }()
	return h.Run(m, o)
}

// Run calls main with the values of options, or without an argument if main has
// no parameter, and returns its result.
func (h *Host) Run(m *Module, o *option.Values) (starlark.Value, error) {
	if m.Main == nil {
		return nil, diag.Errorf(diag.Usage, "run", m.Name, "no main: the file is a library").
			WithHint("define it: def main(o): return [...]")
	}
	if fn, ok := m.Main.(*starlark.Function); ok && fn.NumParams() == 0 {
		return h.Call(fn)
	}
	o.Freeze()
	return h.Call(m.Main, o)
}
