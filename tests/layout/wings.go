package layout

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// This file holds the rule that the core imports no wing. The core is all packages that are no
// wing: events, sources, expressions, the plan, operators, programs of the kernel, results,
// scripts, the command. It is understood, built and tested without the wings, so neither its code
// nor its tests import one, nor does a package of tests/ that its tests import. A list has the
// single files that connect a wing to the core.

// A Wing is an optional part that uses the core; the core does not need it.
type wing struct {
	name, purpose string
	packages      []string // with those below them
}

// wings are shown in docs/hacking.md.
var wings = []wing{
	{"why", "the causes of slow spans", []string{"runtime/why"}},
	{"exporters", "results in the forms of other tools, and results that are sent to them", []string{
		"runtime/output/firefox", "runtime/output/perfetto",
		"runtime/output/parquet", "runtime/output/prometheus", "runtime/output/otlp",
		"runtime/output/pyroscope", "runtime/output/metric", "runtime/output/push", "runtime/output/live",
		"cmd/ppscript/remote",
	}},
	{"recordings", "files of trace-cmd; recordings and saved results, named, compared and exported later",
		[]string{"runtime/source/tracedat", "cmd/ppscript/recording"}},
	{"fleet", "questions to many machines, and results of several machines combined", []string{
		"cmd/ppscript/fleet", "runtime/result/mergeable", "runtime/result/compare", "runtime/result/chance",
		"runtime/result/outlier",
	}},
	{"editors", "editors and agents", []string{"cmd/ppscript/editor", "editors"}},
	{"permit", "rules that say which users may run which scripts", []string{"cmd/ppscript/permit"}},
	{"packaging", "packages of the program; the web site", []string{
		"packaging", "docs/gen", "docs/pictures", "docs/schema", "docs/site",
	}},
}

// joints are the files of the core that import a wing, each with the reason. The list may only
// shrink: a file that imports no wing any more must be removed.
var joints = map[string]string{
	"runtime/plan/why.go":                 "the operator that explains slow spans",
	"runtime/session/why.go":              "its delivery",
	"builtins/pipeline/why.go":            "its builtin",
	"builtins/explore/capture.go":         "its result at the prompt",
	"runtime/output/render/why.go":        "its result as text",
	"runtime/output/render/walk.go":       "its result as rows",
	"runtime/output/picture/why.go":       "its result as a picture",
	"runtime/result/timeline/why.go":      "its result as a time line",
	"runtime/output/picture/timeline.go":  "the form of a file with a time line is chosen here",
	"cmd/ppscript/findings/report.go":     "doctor shows whose scripts may run",
	"runtime/source/perfdata/file.go":     "the first bytes of a recording tell whose it is",
	"runtime/source/perfdata/tracedat.go": "and its records are read as those of perf",
}

// wingOf returns the name of the wing to which a package belongs; "" is the
// core.
func wingOf(pkg string) string {
	for _, w := range wings {
		if within(pkg, w.packages) {
			return w.name
		}
	}
	return ""
}

// joined returns the imports of wings by the core and its tests, except for the joints.
// cmd/ppscript itself, which puts all parts together, may import everything.
func joined(tree fs.FS, joints map[string]string) (faults []string, err error) {
	const command = "cmd/ppscript"
	imports := map[string][]string{} // imports of files that are no tests, by package
	tested := map[string][]string{}  // files of the core's tests, by the package of tests/ that they import
	used := map[string]bool{}
	err = allCode(tree, func(name string, _ []byte, file *ast.File) {
		pkg, isTest := path.Dir(name), strings.HasSuffix(name, "_test.go")
		ofTests := within(pkg, []string{"tests"})
		for _, spec := range file.Imports {
			text, _ := strconv.Unquote(spec.Path.Value)
			to, ok := strings.CutPrefix(text, module+"/")
			switch {
			case !ok || pkg == command || wingOf(pkg) != "" || ofTests && isTest:
				continue
			case ofTests:
				imports[pkg] = append(imports[pkg], to)
			case isTest && within(to, []string{"tests"}):
				tested[to] = append(tested[to], name)
			case wingOf(to) != "" && joints[name] != "" && !isTest:
				used[name] = true
			case wingOf(to) != "":
				faults = append(faults, fmt.Sprintf(
					"%s imports %s of the wing %s; the core does without wings", name, to, wingOf(to)))
			}
		}
	})
	for pkg, names := range tested {
		if to := wingBelow(imports, pkg, map[string]bool{}); to != "" {
			faults = append(faults, fmt.Sprintf("%s imports %s, which leads to %s of the wing %s",
				names[0], pkg, to, wingOf(to)))
		}
	}
	for name := range joints {
		if !used[name] {
			faults = append(faults, name+" imports no wing; take it off the list of joints")
		}
	}
	slices.Sort(faults)
	return faults, err
}

// wingBelow returns a package of a wing that a package of tests/ imports, directly or through
// others of tests/; "" if there is none.
func wingBelow(imports map[string][]string, pkg string, seen map[string]bool) string {
	if seen[pkg] {
		return ""
	}
	seen[pkg] = true
	for _, to := range imports[pkg] {
		if wingOf(to) != "" {
			return to
		}
		if below := wingBelow(imports, to, seen); below != "" {
			return below
		}
	}
	return ""
}

// wingTable returns the differences between wings and their table in the text of
// docs/hacking.md.
func wingTable(text string, wings []wing) (faults []string) {
	_, table, _ := strings.Cut(text, "\n## Core and wings\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []string
	for line := range strings.SplitSeq(table, "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| wing |") {
			rows = append(rows, line)
		}
	}
	for _, w := range wings {
		row := "| " + w.name + " | " + w.purpose + " | `" + strings.Join(w.packages, "` `") + "` |"
		if i := slices.Index(rows, row); i >= 0 {
			rows = slices.Delete(rows, i, i+1)
		} else {
			faults = append(faults, "docs/hacking.md lacks the row of a wing: "+row)
		}
	}
	for _, row := range rows {
		faults = append(faults, "docs/hacking.md has a row of no wing: "+row)
	}
	return faults
}
