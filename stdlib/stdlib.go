// Package stdlib holds the profilers that come with ppscript: one script each,
// and in lib/ the files that they share. They are part of the binary; scripts
// load them as @stdlib//name.star.
package stdlib

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"ppscript/scripts"
)

//go:embed *.star lib/*.star
var files embed.FS

// FS is the root of @stdlib//: the profilers and, in scripts/, the library that
// comes along.
func FS() fs.FS { return both{} }

// both are two trees, one below the other.
type both struct{}

// below is where the library is.
const below = "scripts"

// Open implements fs.FS.
func (both) Open(name string) (fs.File, error) {
	if name == below {
		return scripts.FS().Open(".")
	}
	if rest, ok := strings.CutPrefix(name, below+"/"); ok {
		return scripts.FS().Open(rest)
	}
	return files.Open(name)
}

// Names lists the profilers, sorted, as their files are called without the
// ending: kvm_exit.
func Names() []string {
	entries, _ := fs.ReadDir(files, ".") // embedded: cannot fail
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".star"); ok && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names
}

// called are other names of profilers: those that perf-prof came to use.
var called = map[string]string{"event_care.star": "event_lost.star"}

// Find returns the file of the profiler that a user calls name, with - or _, and
// : for the family that perf-prof's bpf:kvm_exit belongs to.
func Find(name string) (file string, ok bool) {
	file = strings.NewReplacer("-", "_", "bpf:", "bpf_").Replace(name) + ".star"
	if other, ok := called[file]; ok {
		file = other
	}
	if path.Base(file) != file {
		return "", false
	}
	_, err := fs.Stat(files, file)
	return file, err == nil
}

// Summary is the first line of a profiler's docstring. It reads the text
// without running it, since a list wants it of all.
func Summary(name string) string {
	src, err := fs.ReadFile(files, name+".star")
	if err != nil {
		return ""
	}
	_, doc, _ := strings.Cut(string(src), `"""`)
	doc, _, _ = strings.Cut(doc, `"""`)
	line, _, _ := strings.Cut(strings.TrimSpace(doc), "\n")
	return line
}

// Sum is the SHA-256 of all scripts that come with the program: equal sums mean equal scripts.
func Sum() [sha256.Size]byte {
	all := sha256.New()
	for _, root := range []string{".", below} {
		err := fs.WalkDir(FS(), root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(FS(), path)
			fmt.Fprintf(all, "%s %d\n%s", path, len(text), text)
			return err
		})
		if err != nil {
			panic("BUG: " + err.Error()) // they are in memory
		}
	}
	return [sha256.Size]byte(all.Sum(nil))
}
