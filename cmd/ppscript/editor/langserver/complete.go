package langserver

import (
	"strings"

	"go.starlark.net/starlark"
)

// complete lists the words that may be written at a place.
func (s *server) complete(d *source, p *documentParams) (any, error) {
	offset := d.text.offset(p.Position)
	items := []completionItem{}
	path, begin, _ := d.text.word(offset)
	if head, _, ok := strings.Cut(path, "."); ok && d.isOptions(head, offset) {
		have := d.text.content[begin:offset]
		for i := range d.options.Options {
			if o := &d.options.Options[i]; strings.HasPrefix(o.Name, have) {
				items = append(items, d.item(o.Name, kindProperty, string(o.Type), o.Help, begin, offset))
			}
		}
		return items, nil
	}
	text := d.text.content[d.text.statement(offset):offset]
	c := s.completer(d)
	list, have := c.Candidates(text)
	from := offset - len(have)
	for _, name := range list {
		kind, detail, doc := s.about(d, c.Declared(text[:len(text)-len(have)], name), name)
		items = append(items, d.item(name, kind, detail, doc, from, offset))
	}
	return items, nil
}

func (d *source) item(label string, kind int, detail, doc string, from, to int) completionItem {
	edit := &textEdit{Range: span{Start: d.text.position(from), End: d.text.position(to)}, NewText: label}
	return completionItem{Label: label, Kind: kind, Detail: detail, Documentation: doc, TextEdit: edit}
}

// about returns the kind, the type or summary, and the documentation of a name.
// declared is the full name, such as "stream.by", if the name is a word of the
// language.
func (s *server) about(d *source, declared, name string) (kind int, detail, doc string) {
	if b, ok := d.reg.Find(declared); ok {
		kind = kindFunction
		if b.Type != "" {
			kind = kindMethod
		}
		return kind, b.Summary, ""
	}
	switch v := d.own()[name].(type) {
	case nil:
	case *starlark.Function:
		return kindFunction, firstLine(v.Doc()), ""
	default:
		return kindVariable, v.Type(), ""
	}
	switch {
	case strings.HasSuffix(name, " = "):
		return kindProperty, "parameter", ""
	case strings.HasSuffix(name, ".star"), strings.HasSuffix(name, "/"):
		return kindFile, "", ""
	case strings.Contains(name, ":"):
		return kindEvent, "", ""
	}
	return kindField, "", ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
