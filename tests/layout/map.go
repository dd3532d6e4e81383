package layout

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
)

// This file adds missing packages to the map in runtime/doc.go, from their package comments.
// Existing lines stay as they are: their order is the data's journey, which no tool can derive.

//go:generate go test -run TestMap . -update

// mapLine matches a line of the map: a path below runtime, and the purpose of the
// package.
var mapLine = regexp.MustCompile(`(?m)^//\t([a-z/]+) +.*\n`)

// unmapped are packages that need no line: forms of an output, generators, packages of
// tests.
var unmapped = regexp.MustCompile(`^(output/|system/kernel/gen|event/eventtest$|expr/exprtest$)`)

// journey returns the part of the text that is the map.
func journey(text string) string {
	text, _, _ = strings.Cut(text, "// # Words")
	return text
}

// offMap are the packages that the map leaves out.
func offMap(text string, packages []string) (missing []string) {
	for _, pkg := range packages {
		name, below := strings.CutPrefix(pkg, "runtime/")
		if below && !unmapped.MatchString(name) && !strings.Contains(journey(text), "//\t"+name+" ") {
			missing = append(missing, pkg)
		}
	}
	return missing
}

// mapped returns the text with a line for each of the packages.
func mapped(tree fs.FS, text string, packages []string) (string, error) {
	for _, pkg := range offMap(text, packages) {
		purpose, err := purposeOf(tree, pkg)
		if err != nil {
			return "", err
		}
		name := strings.TrimPrefix(pkg, "runtime/")
		subject, _, _ := strings.Cut(name, "/")
		end := 0
		lines := mapLine.FindAllStringSubmatchIndex(journey(text), -1)
		for _, at := range lines {
			if of := text[at[2]:at[3]]; of == subject || strings.HasPrefix(of, subject+"/") {
				end = at[1]
			}
		}
		if end == 0 {
			return "", fmt.Errorf("runtime/doc.go has no subject %s; add it at its place", subject)
		}
		line := fmt.Sprintf("//\t%-22s %s\n", name, purpose)
		text = text[:end] + line + text[end:]
	}
	return text, nil
}

// purposeOf returns the first part of the package comment, without the name.
func purposeOf(tree fs.FS, pkg string) (string, error) {
	files, err := fs.Glob(tree, pkg+"/*.go")
	if err != nil {
		return "", err
	}
	for _, name := range files {
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return "", err
		}
		const mode = parser.ParseComments | parser.PackageClauseOnly
		file, err := parser.ParseFile(token.NewFileSet(), name, src, mode)
		if err != nil {
			return "", err
		}
		if !saysWhatFor(file) {
			continue
		}
		words := strings.Fields(sentence(file.Doc.Text()))
		purpose := strings.Join(words[2:], " ") // behind "Package name"
		if i := strings.IndexAny(purpose, ":;,."); i > 0 {
			purpose = purpose[:i]
		}
		return purpose, nil
	}
	return "", fmt.Errorf("%s: no comment that says what the package is for", pkg)
}
