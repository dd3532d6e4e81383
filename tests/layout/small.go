package layout

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// This file finds small packages that only one other package imports. Such a package is often a part of its
// importer that was cut off. Each is on a list with the reason why it stands alone; all others are merged
// with their importer.

// smallSize is the number of lines below which a package is small.
const smallSize = 300

// smallPackages are the small packages with one importer, each with the reason. The list may only shrink: a
// package that is merged, grows, or gets another importer must leave it.
var smallPackages = map[string]string{
	"builtins/assert":                   "each group of builtins is a package, with its list of Builtins",
	"builtins/values":                   "each group of builtins is a package, with its list of Builtins",
	"cmd/ppscript/editor/newscript":     "editors are a wing; the command only calls it",
	"cmd/ppscript/findings":             "the forms of what doctor found are tested without a machine to examine",
	"cmd/ppscript/fleet/journal":        "its JSON is promised; tests of sinks read it too",
	"cmd/ppscript/fleet/peers":          "the fleet is a wing; a subcommand and files for it, which the command only calls",
	"cmd/ppscript/recording/exporter":   "it starts the command again and again, and is fuzzed without it",
	"cmd/ppscript/recording/resultfile": "the file of results has a lock of its own, since signals open it anew",
	"cmd/ppscript/recording/symbolize":  "recordings are a wing; it opens one program and needs nothing of the command",
	"cmd/ppscript/remote":               "exporters are a wing; it is the one place that imports all of them",
	"cmd/ppscript/terminal/progress":    "it is tested with a clock of its own, without a run",
	"cmd/ppscript/testreport":           "the forms of test results, which know nothing of how tests run",
	"cmd/ppscript/watchdog":             "it is tested with processes that hang",
	"docs/pictures":                     "go:embed reads only its own folder and the folders below it",
	"docs/schema":                       "docs/gen is a command, which tests cannot import; they import this",
	"runtime/output/pyroscope":          "each form of results for another tool is a package",
	"runtime/record/flightbuffer":       "a protocol without locks between programs and reader, tested without programs",
	"runtime/system/sandbox":            "rights are given up in one place, which alone imports seccomp and Landlock",
	"runtime/target/threadset":          "which threads are observed is known without a session",
}

// code calls fn for each file of Go that is neither a test nor below tests.
func code(tree fs.FS, fn func(pkg string, src []byte, file *ast.File)) error {
	return allCode(tree, func(name string, src []byte, file *ast.File) {
		if pkg := path.Dir(name); !strings.HasSuffix(name, "_test.go") && !within(pkg, []string{"tests"}) {
			fn(pkg, src, file)
		}
	})
}

// allCode calls fn for each file of Go, also of tests.
func allCode(tree fs.FS, fn func(name string, src []byte, file *ast.File)) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."), d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src,
			parser.SkipObjectResolution|parser.ParseComments)
		if err == nil {
			fn(name, src, file)
		}
		return err
	})
}

// importers has, for each package of this module, the packages that import it.
type importers map[string]map[string]bool

// add adds the imports of a file of a package.
func (m importers) add(pkg string, file *ast.File) {
	for _, spec := range file.Imports {
		text, _ := strconv.Unquote(spec.Path.Value)
		if to, ok := strings.CutPrefix(text, module+"/"); ok {
			if m[to] == nil {
				m[to] = map[string]bool{}
			}
			m[to][pkg] = true
		}
	}
}

// only returns the only importer of a package; "" if it has none, or several.
func (m importers) only(pkg string) string {
	if len(m[pkg]) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(m[pkg]))[0]
}

// small lists the small packages with one importer that have no reason, and the reasons that are for no such
// package. Lines of generated files do not count.
func small(tree fs.FS, reasons map[string]string) (faults []string, err error) {
	by, lines := importers{}, map[string]int{}
	err = code(tree, func(pkg string, src []byte, file *ast.File) {
		by.add(pkg, file)
		lines[pkg] += 0
		if !ast.IsGenerated(file) {
			lines[pkg] += bytes.Count(src, []byte("\n"))
		}
	})
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for pkg, n := range lines {
		importer := by.only(pkg)
		switch {
		case importer != "" && n < smallSize && reasons[pkg] == "":
			fault("%s has %d lines and one importer, %s: make it a part of %s, "+
				"or give the reason against it in smallPackages", pkg, n, importer, importer)
		case reasons[pkg] == "":
		case importer == "":
			fault("%s has %d importers, not one; take it off the list", pkg, len(by[pkg]))
		case n >= smallSize:
			fault("%s has %d lines and is not small; take it off the list", pkg, n)
		}
	}
	for pkg := range reasons {
		if _, there := lines[pkg]; !there {
			fault("%s does not exist; take it off the list", pkg)
		}
	}
	slices.Sort(faults)
	return faults, err
}
