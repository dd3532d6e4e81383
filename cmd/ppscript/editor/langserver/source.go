package langserver

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"go.starlark.net/starlark"

	"ppscript/builtins"
	"ppscript/cmd/ppscript/terminal/prompt"
	"ppscript/runtime/script"
	"ppscript/runtime/script/option"
)

// A source is a document that is open.
type source struct {
	uri, path string
	version   *int
	text      *text

	declarations // as of the last text that could be loaded
	cancel       context.CancelFunc
}

// declarations are the names that a script declares.
type declarations struct {
	lang    *script.REPL
	reg     *builtins.Registry
	options *option.Set
}

func (d *source) close() {
	if d.cancel != nil {
		d.cancel()
	}
}

// load runs the declarations of a document. While its syntax is wrong, those of the
// last text that was right count.
func (s *server) load(d *source) {
	if d.lang != nil && parsed(d.path, d.text.content) == nil {
		return
	}
	host, reg, err := s.Host()
	if err != nil {
		return
	}
	// As at the prompt, what is loaded has a name here as well. What is bound before
	// a mistake is known; the mistake itself is for check to tell.
	d.declarations = declarations{lang: host.NewREPL(), reg: reg}
	_, _ = d.lang.ExecNamed(d.path, d.text.content)
	for _, name := range slices.Sorted(maps.Keys(d.own())) {
		if set, ok := d.lang.Globals()[name].(*option.Set); ok && (d.options == nil || name == "opts") {
			d.options = set
		}
	}
}

// completer knows what may be written at the end of a text of this document.
func (s *server) completer(d *source) *prompt.Completer {
	return &prompt.Completer{Lang: d.lang, Reg: d.reg, Bench: s.Bench, Scripts: s.Scripts,
		Around: d.text.content}
}

// own are the values that the document itself binds, or loads.
func (d *source) own() starlark.StringDict {
	names := maps.Clone(d.lang.Globals())
	for name := range d.reg.Predeclared() {
		delete(names, name)
	}
	return names
}

// mainParameter finds the parameter of main, which has the values of options.
var mainParameter = regexp.MustCompile(`(?m)^def main\((\w+)`)

// isOptions reports that a name at an offset is the parameter of main.
func (d *source) isOptions(name string, offset int) bool {
	begin := d.text.statement(offset)
	m := mainParameter.FindStringSubmatch(d.text.content[begin:])
	return m != nil && m[1] == name && d.options != nil &&
		mainParameter.FindStringIndex(d.text.content[begin:])[0] == 0
}
