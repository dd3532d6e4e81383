// Site makes a static web site from the pages of docs/. It needs no server, and
// loads nothing from the network.
//
//	make docs                       # into site/
//	go run ./docs/site -o DIR
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppscript/docs"
	"ppscript/docs/pictures"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed page.html
var pageHTML string

//go:embed search.js
var searchJS string

func main() {
	dir := flag.String("o", "site", "the `folder` to write to")
	flag.Parse()
	if err := write(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// A page is one file of the site.
type page struct {
	File, Title string
	Body        template.HTML
	Pages       []page // pages of the menu
}

// An entry is a part of a page in the index of the search.
type entry struct {
	Page   string `json:"page"` // the file, with the anchor in it
	Title  string `json:"title"`
	Within string `json:"within"` // the title of the page
	Text   string `json:"text"`
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// write writes the directory and its files.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var pages []page
	var index []entry
	for _, name := range order() {
		p, found, err := render(name)
		if err != nil {
			return fmt.Errorf("page %s: %w", name, err)
		}
		pages, index = append(pages, p), append(index, found...)
	}
	layout, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	for _, p := range pages {
		p.Pages = pages
		var b bytes.Buffer
		if err := layout.Execute(&b, p); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, p.File), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if err := drawings(filepath.Join(dir, "pictures")); err != nil {
		return err
	}
	words, err := json.Marshal(index)
	if err != nil {
		return err
	}
	script := fmt.Sprintf("const entries = %s;\n%s", words, searchJS)
	return os.WriteFile(filepath.Join(dir, "search.js"), []byte(script), 0o644)
}

// drawings writes the pictures of the pages.
func drawings(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names, err := fs.Glob(pictures.Files, "*.svg")
	if err != nil {
		return err
	}
	for _, name := range names {
		drawing, err := pictures.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), drawing, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// order returns the pages in order: the list of pages, the pages that it names,
// then the others.
func order() []string {
	contents, _ := docs.Page("")
	names := []string{""}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(contents, "](") {
		if name, _, ok := strings.Cut(part, ".md)"); ok && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, name := range docs.Names() {
		if !seen[name] {
			names = append(names, name)
		}
	}
	return names
}

// file returns the name of a page's file.
func file(name string) string {
	if name == "" {
		return "index.html"
	}
	return name + ".html"
}

// render makes the HTML of a page, and its entries for the search.
func render(name string) (page, []entry, error) {
	source, ok := docs.Page(name)
	if !ok {
		return page{}, nil, fmt.Errorf("there is none")
	}
	src := []byte(source)
	tree := markdown.Parser().Parse(text.NewReader(src))
	undouble(tree)
	p := page{File: file(name)}
	var found []entry
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		heading, ok := n.(*ast.Heading)
		if !ok {
			if len(found) > 0 {
				found[len(found)-1].Text += " " + words(n, src)
			}
			continue
		}
		title := words(n, src)
		if p.Title == "" {
			p.Title = title
		}
		id, _ := heading.AttributeString("id")
		place, _ := id.([]byte)
		found = append(found, entry{Page: fmt.Sprintf("%s#%s", p.File, place), Title: title, Within: p.Title})
	}
	relink(tree)
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, src, tree); err != nil {
		return page{}, nil, err
	}
	p.Body = template.HTML(b.String()) // safe: our own pages
	return p, found, nil
}

// undouble leaves out the text drawing after a picture, which terminals show in place of
// the picture.
func undouble(tree ast.Node) {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		_, picture := n.FirstChild().(*ast.Image)
		if code, ok := n.NextSibling().(*ast.CodeBlock); picture && ok {
			tree.RemoveChild(tree, code)
		}
	}
}

// relink makes links between pages lead to their HTML files.
func relink(tree ast.Node) {
	ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			dest := strings.Replace(string(link.Destination), "README.md", "index.md", 1)
			if !strings.Contains(dest, "://") {
				link.Destination = []byte(strings.Replace(dest, ".md", ".html", 1))
			}
		}
		return ast.WalkContinue, nil
	})
}

// words returns the text of a node and its descendants.
func words(node ast.Node, src []byte) string {
	var b strings.Builder
	ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(src))
			b.WriteByte(' ')
		case *ast.CodeBlock:
			b.Write(n.Lines().Value(src))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
