package langserver

import (
	"strings"

	"go.starlark.net/starlark"
)

// signature returns the parameters of the call around a place, and the one that the cursor
// is in.
func (s *server) signature(d *source, p *documentParams) (any, error) {
	offset := d.text.offset(p.Position)
	text := d.text.content[d.text.statement(offset):offset]
	c := s.completer(d)
	call := c.Call(text)
	if call.Name == "" {
		return nil, nil
	}
	var sig signatureInformation
	if b := call.Builtin; b != nil {
		sig = signatureInformation{Label: b.Signature(), Documentation: b.Summary}
		for i := range b.Params {
			sig.Parameters = append(sig.Parameters, parameterInformation{b.Params[i].Name, b.Params[i].Doc})
		}
	} else if fn, ok := d.own()[call.Name].(*starlark.Function); ok {
		sig = signatureInformation{Label: fn.Name() + "(" + parameters(fn) + ")",
			Documentation: firstLine(fn.Doc())}
		for i := range fn.NumParams() {
			name, _ := fn.Param(i)
			sig.Parameters = append(sig.Parameters, parameterInformation{name, ""})
		}
	} else {
		return nil, nil
	}
	active := call.Position
	for i := range sig.Parameters {
		if call.Keyword != "" && sig.Parameters[i].Label == call.Keyword {
			active = i
		}
	}
	return signatureHelp{Signatures: []signatureInformation{sig}, ActiveParameter: active}, nil
}

// fixes returns a change for each misspelt name: it becomes the name after "did you mean".
func (s *server) fixes(_ *source, p *documentParams) (any, error) {
	list := []codeAction{}
	for _, d := range p.Context.Diagnostics {
		_, rest, ok := strings.Cut(d.Message, "(did you mean ")
		if !ok {
			continue
		}
		name, _, ok := strings.Cut(rest, "?)")
		if !ok {
			continue
		}
		name = strings.TrimPrefix(name, ".")
		edit := workspaceEdit{Changes: map[string][]textEdit{
			p.TextDocument.URI: {{Range: d.Range, NewText: name}}}}
		list = append(list, codeAction{Title: "Write " + name, Kind: "quickfix",
			Diagnostics: []diagnostic{d}, Edit: edit})
	}
	return list, nil
}
