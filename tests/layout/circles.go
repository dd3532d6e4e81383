package layout

import (
	"fmt"
	"go/ast"
	"io/fs"
	"slices"
)

// This file finds circles that the import order does not show: a package with a single importer,
// which it calls back through fields of function type. Such a package is a part of its importer, or
// should get values in place of functions. Fields and their assignments are matched by name; types
// are not resolved.

// circles are the types that have such fields, each with the reason. The list may only shrink: a
// type that is no longer a circle must be removed.
var circles = map[string]string{
	"cmd/ppscript/editor/langserver.Options":     "the words of scripts, and their modules, are the command's",
	"cmd/ppscript/fleet.Program":                 "an agent runs the command's own scripts and options",
	"cmd/ppscript/recording/diff.Environment":    "messages and rights are the command's",
	"cmd/ppscript/recording/exporter.Supervisor": "it runs the command again and again",
	"cmd/ppscript/recording/resolve.Environment": "messages and rights are the command's",
	"cmd/ppscript/terminal/help.Show":            "the host of scripts is made when it is needed",
	"cmd/ppscript/watchdog.Watchdog":             "the command says what hangs",
	"runtime/operator/silence.Spec":              "losses are known to the run",
	"runtime/script/direct.Hooks":                "events and states are values of its importer",
	"runtime/source/tracedat.Reader":             "memory of parts of a mapped file is given back",
	"runtime/why/whyfacts.Config":                "the clock of the run",
}

// backs returns the types that call their only importer back and are not in the list, and the types
// in the list that do not.
func backs(tree fs.FS, circles map[string]string) (faults []string, err error) {
	by := importers{}
	fields := map[string]map[string][]string{} // of function type: by package and field, the types
	sets := map[string]map[string]bool{}       // by package: the fields that it sets
	err = code(tree, func(pkg string, _ []byte, file *ast.File) {
		by.add(pkg, file)
		if fields[pkg] == nil {
			fields[pkg], sets[pkg] = map[string][]string{}, map[string]bool{}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && n.Name.IsExported() {
					for _, field := range functionsOf(s) {
						fields[pkg][field] = append(fields[pkg][field], n.Name.Name)
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					sets[pkg][key.Name] = true
				}
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					if x, ok := to.(*ast.SelectorExpr); ok {
						sets[pkg][x.Sel.Name] = true
					}
				}
			}
			return true
		})
	})
	found := map[string]string{}
	for pkg := range by {
		importer := by.only(pkg)
		if importer == "" {
			continue
		}
		for field, types := range fields[pkg] {
			if sets[importer][field] && !sets[pkg][field] {
				for _, name := range types {
					found[pkg+"."+name] = fmt.Sprintf("%s.%s calls its only importer, %s, back by %s",
						pkg, name, importer, field)
				}
			}
		}
	}
	for name, text := range found {
		if circles[name] == "" {
			faults = append(faults, text+": give it values, or make it a part of its importer")
		}
	}
	for name := range circles {
		if found[name] == "" {
			faults = append(faults, name+" is no circle; take it off the list")
		}
	}
	slices.Sort(faults)
	return faults, err
}

// functionsOf are the exported fields of function type.
func functionsOf(s *ast.StructType) (names []string) {
	for _, field := range s.Fields.List {
		t := field.Type
		if list, ok := t.(*ast.ArrayType); ok {
			t = list.Elt
		}
		if _, ok := t.(*ast.FuncType); !ok {
			continue
		}
		for _, name := range field.Names {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
