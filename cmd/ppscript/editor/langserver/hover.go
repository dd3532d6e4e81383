package langserver

import (
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"ppscript/cmd/ppscript/editor/starfmt"
	"ppscript/cmd/ppscript/terminal/prompt"
)

// eventName finds the names of events in a line.
var eventName = regexp.MustCompile(`[a-z0-9_]+:[a-zA-Z0-9_]+`)

// hover explains the word at a place: a word of the language, a function or an
// option of the script, a field, an event.
func (s *server) hover(d *source, p *documentParams) (any, error) {
	offset := d.text.offset(p.Position)
	path, begin, end := d.text.word(offset)
	value := s.explain(d, path, begin, end)
	if value == "" {
		if value, begin, end = s.event(d, offset); value == "" {
			return nil, nil
		}
	}
	where := span{Start: d.text.position(begin), End: d.text.position(end)}
	return hover{Contents: markup{Kind: "markdown", Value: value}, Range: &where}, nil
}

func (s *server) explain(d *source, path string, begin, end int) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if name == "" {
		return ""
	}
	if head, _, ok := strings.Cut(path, "."); ok && d.isOptions(head, begin) {
		for i := range d.options.Options {
			if o := &d.options.Options[i]; o.Name == name {
				return fmt.Sprintf("`--%s` (%s): %s", o.Flag(), o.Type, o.Help)
			}
		}
	}
	text := d.text.content[d.text.statement(begin):end]
	c := s.completer(d)
	if literal := literalAt(parsed(d.path, d.text.content), d.text, begin); literal != "" {
		if strings.Contains(literal, "\n") {
			return "" // prose
		}
		return fieldText(c, text, name)
	}
	if full := c.Declared(text[:len(text)-len(name)], name); full != "" {
		if help, ok := d.reg.HelpOfName(full); ok {
			return fenced(help)
		}
	}
	switch v := d.own()[path].(type) {
	case nil:
	case *starlark.Function:
		return fenced("def "+v.Name()+"("+parameters(v)+")") + "\n\n" + v.Doc()
	default:
		return fenced(path + ": " + v.Type())
	}
	if strings.Contains(path, ".") {
		return fieldText(c, text, name)
	}
	return ""
}

// fieldText describes a field of the events that text names: its type, size and
// offset.
func fieldText(c *prompt.Completer, text, name string) string {
	f := c.Field(text, name)
	if f == nil {
		return ""
	}
	return fenced(fmt.Sprintf("%s: %s, %d bytes at %d", f.Name, f.Type, f.Size, f.Offset))
}

// literalAt returns the string literal around an offset, with its quotes; "" if
// there is none.
func literalAt(tree *syntax.File, t *text, offset int) (raw string) {
	if tree == nil {
		return ""
	}
	syntax.Walk(tree, func(n syntax.Node) bool {
		l, ok := n.(*syntax.Literal)
		if ok && l.Token == syntax.STRING {
			begin := t.offset(t.at(int(l.TokenPos.Line), int(l.TokenPos.Col)))
			if begin <= offset && offset < begin+len(l.Raw) {
				raw = l.Raw
			}
		}
		return true
	})
	return raw
}

func parameters(f *starlark.Function) string {
	var list []string
	for i := range f.NumParams() {
		name, _ := f.Param(i)
		if v := f.ParamDefault(i); v != nil {
			name += " = " + v.String()
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

// event explains the event whose name is at an offset.
func (s *server) event(d *source, offset int) (value string, begin, end int) {
	n := d.text.position(offset).Line
	line, margin := d.text.line(n), d.text.lines[n]
	for _, m := range eventName.FindAllStringIndex(line, -1) {
		if offset < margin+m[0] || offset > margin+m[1] {
			continue
		}
		name := line[m[0]:m[1]]
		schemas, err := s.Bench.Schemas(name)
		if err != nil || len(schemas) == 0 {
			return "", 0, 0
		}
		var w strings.Builder
		fmt.Fprintf(&w, "%s\n", name)
		for i := range schemas[0].Fields {
			if f := &schemas[0].Fields[i]; !strings.HasPrefix(f.Name, "common_") {
				fmt.Fprintf(&w, "    %-20s %s\n", f.Name, f.Type)
			}
		}
		return fenced(w.String()), margin + m[0], margin + m[1]
	}
	return "", 0, 0
}

func fenced(text string) string { return "```python\n" + strings.TrimRight(text, "\n") + "\n```" }

// format returns one change that replaces the text by the formatted one. A text
// with syntax errors stays as it is.
func (s *server) format(d *source, _ *documentParams) (any, error) {
	out, err := starfmt.Format(d.path, []byte(d.text.content))
	if err != nil || string(out) == d.text.content {
		return []textEdit{}, nil
	}
	all := span{End: d.text.position(len(d.text.content))}
	return []textEdit{{Range: all, NewText: string(out)}}, nil
}
