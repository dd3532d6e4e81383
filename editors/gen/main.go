// Command gen writes the grammars of editors from the declarations of the words
// of the language. Run it through go generate.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	_ "embed"

	"ppscript/builtins/all"
)

//go:embed tmLanguage.json.in
var vscode string

//go:embed syntax.vim.in
var vim string

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write() error {
	dir := "editors"
	if _, err := os.Stat("editors.go"); err == nil {
		dir = "." // go generate runs in the package's folder
	}
	words, err := language()
	if err != nil {
		return err
	}
	return errors.Join(
		fill(filepath.Join(dir, "vscode/syntaxes/ppscript.tmLanguage.json"), vscode, words),
		fill(filepath.Join(dir, "vim/syntax/ppscript.vim"), vim, words))
}

func fill(file, form string, words *words) error {
	t, err := template.New(filepath.Base(file)).Delims("<<", ">>").Funcs(template.FuncMap{
		"any":   func(list []string) string { return strings.Join(list, "|") },
		"words": func(list []string) string { return strings.Join(list, " ") },
	}).Parse(form)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, words); err != nil {
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// A words value has the names of the language by kind.
type words struct {
	Functions, Spaces, Members, Methods, Constants []string
}

func language() (*words, error) {
	r, err := all.Tests(nil)
	if err != nil {
		return nil, err
	}
	w := &words{}
	for _, b := range r.All() {
		space, member, dotted := strings.Cut(b.Name, ".")
		switch {
		case b.Type != "":
			w.Methods = append(w.Methods, b.Name)
		case dotted:
			w.Spaces = append(w.Spaces, space)
			w.Members = append(w.Members, member)
		case b.Impl == nil:
			w.Constants = append(w.Constants, b.Name)
		default:
			w.Functions = append(w.Functions, b.Name)
		}
	}
	for _, list := range []*[]string{&w.Functions, &w.Spaces, &w.Members, &w.Methods, &w.Constants} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return w, nil
}
