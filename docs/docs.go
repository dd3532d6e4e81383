// Package docs has the pages of this directory as texts: ppscript help shows
// them, and tests compare them with the program.
package docs

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.md
var files embed.FS

// Formats is docs/formats.md: the form of each kind of record.
//
//go:embed formats.md
var Formats string

// KernelData is docs/kernel-data.md: how expressions read the kernel's memory.
//
//go:embed kernel-data.md
var KernelData string

// Schema is docs/schema.json: Formats as a JSON Schema.
//
//go:generate go run ./gen
//go:embed schema.json
var Schema []byte

// contents is the page that lists the others.
const contents = "README"

// Page returns a page in Markdown, by its name without .md; "" is the list of
// pages.
func Page(name string) (text string, ok bool) {
	if name == "" {
		name = contents
	}
	b, err := files.ReadFile(strings.ToLower(name) + ".md")
	if name == contents {
		b, err = files.ReadFile(contents + ".md")
	}
	return string(b), err == nil
}

// Names returns the sorted names of the pages, without the list of pages.
func Names() []string {
	entries, _ := files.ReadDir(".") // embedded: it is there
	var names []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".md"); name != contents {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
