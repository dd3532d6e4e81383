// Package scripts holds a library of questions: one script each, in the
// directory of its subject. They are part of the binary and are called by their
// names, as the profilers of stdlib are, whose names come first; as files they
// are @stdlib//scripts/DIR/NAME.star.
package scripts

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed */*.star
var files embed.FS

// FS is the root of the library.
func FS() fs.FS { return files }

// Names lists the scripts that can be called, sorted, without directory and
// ending: runqlat.
func Names() []string {
	var names []string
	for _, p := range paths() {
		names = append(names, name(p))
	}
	slices.Sort(names)
	return names
}

// paths are the files of the scripts: not their tests, nor the files that they share.
func paths() []string {
	all, _ := fs.Glob(files, "*/*.star") // embedded: cannot fail
	return slices.DeleteFunc(all, func(p string) bool {
		return strings.HasSuffix(p, "_test.star") || strings.HasPrefix(p, "lib/")
	})
}

func name(p string) string { return strings.TrimSuffix(path.Base(p), ".star") }

// Find returns the file of the script that a user calls so, below FS.
func Find(called string) (file string, ok bool) {
	called = strings.ReplaceAll(called, "-", "_")
	for _, p := range paths() {
		if name(p) == called {
			return p, true
		}
	}
	return "", false
}

// Summary is the first line of a script's docstring.
func Summary(called string) string {
	file, ok := Find(called)
	if !ok {
		return ""
	}
	src, err := fs.ReadFile(files, file)
	if err != nil {
		return ""
	}
	_, doc, _ := strings.Cut(string(src), `"""`)
	doc, _, _ = strings.Cut(doc, `"""`)
	line, _, _ := strings.Cut(strings.TrimSpace(doc), "\n")
	return line
}
