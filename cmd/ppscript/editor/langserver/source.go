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

// A source is a document that the editor has open.
type source struct {
	uri, path string
	version   *int
	text      *text

	declarations // of the last text whose syntax was right
	cancel       context.CancelFunc
}

// declarations has a document's globals, the builtins and the options that it
// declares.
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

// load runs the top-level statements of a document. While its syntax is wrong, the
// declarations of the last correct text stay in use.
func (s *server) load(d *source) {
	if d.lang != nil && parsed(d.path, d.text.content) == nil {
		return
	}
	host, reg, err := s.Host()
	if err != nil {
		return
	}
	// As at the prompt, loaded names become globals. Names bound before a mistake
	// are kept; check reports the mistake itself.
	d.declarations = declarations{lang: host.NewREPL(), reg: reg}
	_, _ = d.lang.ExecNamed(d.path, d.text.content)
	for _, name := range slices.Sorted(maps.Keys(d.own())) {
		if set, ok := d.lang.Globals()[name].(*option.Set); ok && (d.options == nil || name == "opts") {
			d.options = set
		}
	}
}

// completer makes a completer that finds the possible continuations of a text
// of this document.
func (s *server) completer(d *source) *prompt.Completer {
	return &prompt.Completer{Lang: d.lang, Reg: d.reg, Bench: s.Bench, Scripts: s.Scripts,
		Around: d.text.content}
}

// own returns the values that the document binds or loads, without the
// builtins.
func (d *source) own() starlark.StringDict {
	names := maps.Clone(d.lang.Globals())
	for name := range d.reg.Predeclared() {
		delete(names, name)
	}
	return names
}

// mainParameter matches the parameter of main, which holds the values of the
// options.
var mainParameter = regexp.MustCompile(`(?m)^def main\((\w+)`)

// isOptions reports that a name at an offset is the parameter of the function
// main around it.
func (d *source) isOptions(name string, offset int) bool {
	begin := d.text.statement(offset)
	m := mainParameter.FindStringSubmatch(d.text.content[begin:])
	return m != nil && m[1] == name && d.options != nil &&
		mainParameter.FindStringIndex(d.text.content[begin:])[0] == 0
}
