package layout

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the missing lines of the map in runtime/doc.go")

func TestTree(t *testing.T) {
	faults, err := check(os.DirFS("../.."), rules{layers, planned, owners, mayExit})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// A test declares the programs that it runs.
func TestProgramsAreDeclared(t *testing.T) {
	for _, list := range []func(fs.FS) ([]string, error){undeclared, undeclaredCommands} {
		faults, err := list(os.DirFS("../.."))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range faults {
			t.Error(f)
		}
	}
}

// The checker finds every place where a test runs a program, and every place where
// it declares a need.
func TestUndeclaredPrograms(t *testing.T) {
	const kit = `package testkit
		var GDB, Binutils = program("gdb", "gdb", true), installed("objdump", "binutils", true)
		func Debug(t T) { Requires(t, GDB); Run(t, "gdb") }
		func Show(t T) { Run(t, "xz") }`
	f := func(src string, want ...string) {
		t.Helper()
		got, err := undeclared(fstest.MapFS{
			"tests/testkit/a.go": &fstest.MapFile{Data: []byte(kit)},
			"x/x_test.go":        &fstest.MapFile{Data: []byte("package x\n" + src)},
		})
		for i := range want {
			want[i] = "x." + want[i] + ", and declares no need of it (testkit.Requires)"
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s:\ngot %q, %v, want %q", src, got, err, want)
		}
	}
	f(`func TestA(t T) { testkit.Run(t, "gdb") }`, "TestA runs gdb")
	f(`func TestA(t T) { testkit.Requires(t, testkit.GDB); testkit.StartFor(t, 5, "gdb") }`)
	f(`func TestA(t T) { testkit.Debug(t) }`)
	f(`func TestA(t T) { testkit.Show(t) }`, "TestA runs xz")
	f(`func TestA(t T) { testkit.Show(t); testkit.Requires(t, testkit.Program("xz")) }`)
	f(`func TestA(t T) { helper(t) }
		func helper(t T) { exec.CommandContext(ctx, "/usr/bin/nm", file) }`, "TestA runs nm")
	f(`var needs = []testkit.Need{testkit.Binutils}
		func TestA(t T) { testkit.Requires(t, needs...); (x{}).run(t) }
		func (x) run(t T) { exec.Command("nm") }`)
	f(`func TestA(t T) { exec.Command("sh", "-c", "x"); exec.Command("./x"); exec.Command(name, "x") }`)
	f(`func helper(t T) { exec.Command("perf") }`)
}

func TestUndeclaredCommands(t *testing.T) {
	got, err := undeclaredCommands(fstest.MapFS{"tests/script/a.txtar": &fstest.MapFile{Data: []byte(
		"exec perf x\n[has:perf] exec perf x\n[live] ! exec gdb\nexits 0 ppscript x\nexec sh\n" +
			"[!has:xz] skip\nexec xz\n-- file --\nexec fio\n")}})
	want := []string{
		"tests/script/a.txtar:1 runs perf without a condition [has:perf]",
		"tests/script/a.txtar:3 runs gdb without a condition [has:gdb]",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestDocuments checks that the paths that documents name exist, and the names in docs/hacking.md.
func TestDocuments(t *testing.T) {
	tree := os.DirFS("../..")
	documents, err := fs.Glob(tree, "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(documents, "README.md", "CONTRIBUTING.md", "AGENTS.md", "tests/README.md") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range paths(tree, name, string(text)) {
			t.Error(fault)
		}
	}
	names, err := declared(tree)
	if err != nil {
		t.Fatal(err)
	}
	const name = "docs/hacking.md"
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range unknownNames(names, name, string(text)) {
		t.Error(fault)
	}
}

// TestPathsOfComments checks that the paths that comments mention exist.
func TestPathsOfComments(t *testing.T) {
	faults, err := commentPaths(os.DirFS("../.."), foreignPaths)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func TestCommentPaths(t *testing.T) {
	tree := fstest.MapFS{
		"low/a.go": &fstest.MapFile{Data: []byte("package low\n\n" +
			"// see low/a.go and (low/gone.go), low/alien.c, other/x.go, x/low/b.go\n" +
			"var a = \"low/text.go\"\n")},
	}
	got, err := commentPaths(tree, map[string]string{"low/alien.c": "the kernel's", "low/b.c": "unused"})
	want := []string{"a comment of low names low/gone.go, which does not exist",
		"no comment names low/b.c; take it off the list"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestUnknownNames(t *testing.T) {
	names, err := declared(fstest.MapFS{"x/low/a.go": &fstest.MapFile{Data: []byte(`package low
		type T struct { Member int }
		func (t *T) Do() {}
		var word = "burst"`)}})
	if err != nil {
		t.Fatal(err)
	}
	got := unknownNames(names, "X.md",
		"`low`, `low.T`, `T.Do`, `Do()`, `Member`, `burst`, `Gone`, `low.Gone`, `high.T`, `low/a.go`, `-x`, `T{}`")
	want := []string{"X.md names Gone, which the code does not declare",
		"X.md names low.Gone, which the code does not declare",
		"X.md names high.T, which the code does not declare"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The map in runtime/doc.go has a line for each package below runtime, and no other. With -update,
// a missing package gets a line from its package comment, after the other packages of its subject.
func TestMap(t *testing.T) {
	tree := os.DirFS("../..")
	all, err := expand(tree, layers)
	if err != nil {
		t.Fatal(err)
	}
	const name = "runtime/doc.go"
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		written, err := mapped(tree, string(text), slices.Concat(all...))
		if err != nil {
			t.Fatal(err)
		}
		if written != string(text) {
			if err := os.WriteFile("../../"+name, []byte(written), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text = []byte(written)
	}
	for _, pkg := range offMap(string(text), slices.Concat(all...)) {
		t.Errorf("%s leaves out %s; write its line: go test ./tests/layout -run TestMap -update", name, pkg)
	}
	for _, line := range mapLine.FindAllStringSubmatch(journey(string(text)), -1) {
		if !isDir(tree, "runtime/"+line[1]) {
			t.Errorf("%s names %s, which does not exist", name, line[1])
		}
	}
}

func TestMapped(t *testing.T) {
	tree := fstest.MapFS{"runtime/operator/new/a.go": &fstest.MapFile{Data: []byte(
		"// Package new keeps events\n// that are new: others go. It is small.\npackage new\n")}}
	const before, after = "// operator: work.\n//\n//\toperator/join          events\n//\n", "// # Words\n"
	got, err := mapped(tree, before+after, []string{"runtime/operator/join", "runtime/operator/new"})
	want := strings.TrimSuffix(before, "//\n") +
		"//\toperator/new           keeps events that are new\n//\n" + after
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := mapped(tree, after, []string{"runtime/operator/new"}); err == nil {
		t.Error("got no error for a subject that the map lacks")
	}
}

// The picture in docs/hacking.md shows every package folder, and none that does
// not exist.
func TestPictureOfTheHouse(t *testing.T) {
	text, err := os.ReadFile("../../docs/hacking.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(text), "## The house")
	picture, _, _ = strings.Cut(picture, "\n## ")
	words := regexp.MustCompile(`[a-z]+`).FindAllString(picture, -1)
	tree := os.DirFS("../..")
	exists := func(name string, houses ...string) {
		t.Helper()
		there := func(house string) bool { return isDir(tree, path.Join(house, name)) }
		if !slices.ContainsFunc(houses, there) {
			t.Errorf("the picture in docs/hacking.md shows %s, which is not in %q", name, houses)
		}
	}
	folder := regexp.MustCompile(`[ (]([a-z]+(?:/[a-z]+)*)/[ ),\n]`)
	for _, m := range folder.FindAllStringSubmatch(picture, -1) {
		exists(m[1], ".", "runtime")
	}
	// Folders of bpf and of the command are lists, separated by two blanks.
	for _, list := range regexp.MustCompile(`[a-z]+(?:  [a-z]+){2,}`).FindAllString(picture, -1) {
		for name := range strings.FieldsSeq(list) {
			exists(name, "bpf", "cmd/ppscript")
		}
	}
	for _, house := range []string{"runtime", "bpf", "cmd/ppscript"} {
		entries, err := os.ReadDir("../../" + house)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != "testdata" && !slices.Contains(words, e.Name()) {
				t.Errorf("the picture in docs/hacking.md leaves out %s/%s", house, e.Name())
			}
		}
	}
}

// The core and its tests import no wing.
func TestCoreAndWings(t *testing.T) {
	faults, err := joined(os.DirFS("../.."), joints)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
	tree := os.DirFS("../..")
	text, err := os.ReadFile("../../docs/hacking.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range wingTable(string(text), wings) {
		t.Error(f)
	}
	for _, w := range wings {
		for _, pkg := range w.packages {
			if !isDir(tree, pkg) {
				t.Errorf("wing %s: %s does not exist", w.name, pkg)
			}
		}
	}
}

// The table of wings has a row for each wing, and no other.
func TestWingTable(t *testing.T) {
	table := []wing{{"fleet", "many machines", []string{"cmd/fleet", "runtime/sum"}}}
	const head = "# Working\n\n| a | b |\n\n## Core and wings\n\n" +
		"Text.\n\n| wing | what | packages |\n|---|---|---|\n"
	const row = "| fleet | many machines | `cmd/fleet` `runtime/sum` |"
	f := func(text string, want ...string) {
		t.Helper()
		if got := wingTable(text, table); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	f(head + row + "\n\n## To add\n\n| other | row |\n")
	f(head, "docs/hacking.md lacks the row of a wing: "+row)
	const gone = "| gone | a wing | `cmd/gone` |"
	f(head+row+"\n"+gone+"\n", "docs/hacking.md has a row of no wing: "+gone)
}

func TestJoined(t *testing.T) {
	const docs = "package x\nimport _ \"ppscript/docs\"\n"
	const wing = "package x\nimport _ \"ppscript/runtime/why/story\"\n"
	f := func(joints map[string]string, files map[string]string, want ...string) {
		t.Helper()
		tree := fstest.MapFS{}
		for name, src := range files {
			tree[name] = &fstest.MapFile{Data: []byte(src)}
		}
		if got, err := joined(tree, joints); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %q, %v, want %q", files, got, err, want)
		}
	}
	const rest = " imports runtime/why/story of the wing why; the core does without wings"
	f(nil, map[string]string{"runtime/plan/a.go": docs, "runtime/why/a.go": wing, "cmd/ppscript/a.go": wing})
	f(nil, map[string]string{"runtime/plan/a.go": wing}, "runtime/plan/a.go"+rest)
	f(nil, map[string]string{"runtime/plan/a_test.go": wing}, "runtime/plan/a_test.go"+rest)
	f(nil, map[string]string{"tests/why/a.go": wing, "tests/why/a_test.go": wing})
	plan := map[string]string{"runtime/plan/why.go": "a joint"}
	f(plan, map[string]string{"runtime/plan/why.go": wing})
	f(plan, map[string]string{"runtime/plan/why.go": docs},
		"runtime/plan/why.go imports no wing; take it off the list of joints")
	f(nil, map[string]string{
		"runtime/plan/a_test.go": "package x\nimport _ \"ppscript/tests/kit\"\n",
		"tests/kit/a.go":         "package x\nimport _ \"ppscript/tests/more\"\n", "tests/more/a.go": wing,
	}, "runtime/plan/a_test.go imports tests/kit, which leads to runtime/why/story of the wing why")
}

// No package calls its only importer back, except for those in the list.
func TestNoCircles(t *testing.T) {
	faults, err := backs(os.DirFS("../.."), circles)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// TestSmallPackages checks that a small package with one importer has a reason to stand alone.
func TestSmallPackages(t *testing.T) {
	faults, err := small(os.DirFS("../.."), smallPackages)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func TestSmall(t *testing.T) {
	const low, high = "package low\n", "package high\nimport _ \"ppscript/low\"\n"
	long := low + strings.Repeat("// x\n", smallSize)
	f := func(reasons map[string]string, files map[string]string, want ...string) {
		t.Helper()
		tree := fstest.MapFS{}
		for name, src := range files {
			tree[name] = &fstest.MapFile{Data: []byte(src)}
		}
		if got, err := small(tree, reasons); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %q, %v, want %q", files, got, err, want)
		}
	}
	listed := map[string]string{"low": "a reason"}
	const fault = "low has 1 lines and one importer, high: make it a part of high, " +
		"or give the reason against it in smallPackages"
	f(nil, map[string]string{"low/a.go": low, "high/a.go": high}, fault)
	f(map[string]string{"low": ""}, map[string]string{"low/a.go": low, "high/a.go": high}, fault)
	f(listed, map[string]string{"low/a.go": low, "high/a.go": high})
	f(nil, map[string]string{"low/a.go": low, "high/a.go": high, "other/a.go": high})
	f(nil, map[string]string{"low/a.go": long, "high/a.go": high})
	f(nil, map[string]string{"low/a.go": low, "high/a_test.go": high, "tests/a.go": high})
	f(nil, map[string]string{"low/a.go": low, "low/b.go": "// Code generated by x. DO NOT EDIT.\n\n" + long,
		"high/a.go": high}, fault)
	f(listed, map[string]string{"low/a.go": low, "high/a.go": high, "other/a.go": high},
		"low has 2 importers, not one; take it off the list")
	f(listed, map[string]string{"low/a.go": low}, "low has 0 importers, not one; take it off the list")
	f(listed, map[string]string{"low/a.go": long, "high/a.go": high},
		"low has 301 lines and is not small; take it off the list")
	f(listed, map[string]string{"high/a.go": "package high\n"}, "low does not exist; take it off the list")
}

func TestBacks(t *testing.T) {
	const low = "package low\ntype Hooks struct { Say func(string); N int }\n"
	const high = "package high\nimport \"ppscript/low\"\nvar h = low.Hooks{Say: nil}\n"
	f := func(circles map[string]string, files map[string]string, want ...string) {
		t.Helper()
		tree := fstest.MapFS{}
		for name, src := range files {
			tree[name] = &fstest.MapFile{Data: []byte(src)}
		}
		if got, err := backs(tree, circles); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %q, %v, want %q", files, got, err, want)
		}
	}
	listed := map[string]string{"low.Hooks": "a reason"}
	const fault = "low.Hooks calls its only importer, high, back by Say: " +
		"give it values, or make it a part of its importer"
	f(nil, map[string]string{"low/a.go": low, "high/a.go": high}, fault)
	f(nil, map[string]string{"low/a.go": low, "high/a.go": "package high\nimport \"ppscript/low\"\n" +
		"func f(h *low.Hooks) { h.Say = nil }\n"}, fault)
	f(listed, map[string]string{"low/a.go": low, "high/a.go": high})
	f(nil, map[string]string{"low/a.go": low, "high/a.go": high,
		"other/a.go": "package other\nimport \"ppscript/low\"\n"})
	f(nil, map[string]string{"low/a.go": low + "var own = Hooks{Say: nil}\n", "high/a.go": high})
	f(listed, map[string]string{"low/a.go": low}, "low.Hooks is no circle; take it off the list")
}

func TestPathsOfDocuments(t *testing.T) {
	tree := fstest.MapFS{"runtime/operator/agg/a.go": &fstest.MapFile{}}
	got := paths(tree, "X.md",
		"`runtime/operator/agg`, `runtime/operator/agg/a.go`, `runtime/gone/b.go`, `go test ./runtime`, `other/x`, `runtime/*.go`")
	if want := []string{"X.md names runtime/gone/b.go, which does not exist"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Each rule must find the fault for which it was written.
func TestRules(t *testing.T) {
	r := rules{
		layers:  [][]string{{"low"}, {"mid", "beside"}, {"top"}, {"later"}},
		planned: []string{"later"},
		owners:  map[string][]string{"example.com/x": {"top"}},
		mayExit: []string{"top"},
	}
	good := map[string]string{
		"low/a.go":        "// Package low is a thing.\npackage low\n",
		"mid/a.go":        "// Package mid is a thing.\npackage mid\nimport _ \"ppscript/low\"\n",
		"beside/a.go":     "// Package beside is a thing.\npackage beside\n",
		"top/a.go":        "// Package top is a thing.\npackage top\nimport _ \"ppscript/mid\"\nimport _ \"example.com/x/y\"\nimport \"os\"\nfunc f() { os.Exit(1) }\n",
		"top/a_test.go":   "package top\nimport _ \"example.com/z\"\n",
		"tests/t/a.go":    "// Package t is a thing.\npackage t\nimport _ \"ppscript/top\"\n",
		".git/a.go":       "not Go",
		"mid/testdata.go": "package mid\n",
	}
	f := func(name, src, want string) {
		t.Helper()
		tree := fstest.MapFS{}
		for n, s := range good {
			tree[n] = &fstest.MapFile{Data: []byte(s)}
		}
		if name != "" {
			tree[name] = &fstest.MapFile{Data: []byte(src)}
		}
		faults, err := check(tree, r)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && len(faults) > 0 || want != "" &&
			!slices.ContainsFunc(faults, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%s: got %q, want %q", name, faults, want)
		}
	}
	f("", "", "")
	f("low/b.go", "package low\nimport _ \"ppscript/mid\"\n", "low/b.go imports mid, which is not in a lower layer than low")
	f("mid/b.go", "package mid\nimport _ \"ppscript/beside\"\n", "imports beside, which is not in a lower layer")
	f("mid/b.go", "package mid\nimport _ \"ppscript/tests/t\"\n", "imports tests/t, which is not in a lower layer")
	f("low/b.go", "package low\n// Prints it.\nfunc Show() {}\n", "low/b.go: the comment of Show begins with \"Prints\"")
	f("low/b.go", "package low\n// Show prints it.\nfunc Show() {}\n// A Thing is one.\ntype Thing int\n", "")
	f("new/a.go", "// Package new is a thing.\npackage new\n", "new is in no layer")
	f("mid/b.go", "package mid\nimport _ \"example.com/x\"\n", "imports example.com/x, which only [top] and tests may")
	f("top/b.go", "package top\nimport _ \"example.com/other\"\n", "has no owner")
	f("mid/b.go", "package mid\nimport \"os\"\nvar f = os.Exit\n", "calls os.Exit")
	f("mid/b.go", "package mid\nimport \"log\"\nfunc f() { log.Fatalf(\"\") }\n", "calls log.Fatalf")
	f("beside/a.go", "// Something.\npackage beside\n", "beside: no comment")
	f("tests/t/a.go", "package t\n", "tests/t: no comment")
	f("later/a.go", "// Package later is a thing.\npackage later\n", "later exists; take it off")
	long := strings.Repeat("x", maxColumns)
	f("low/b.go", "package low\n// "+long+"\n", "low/b.go:2: got 113 columns, want at most 110")
	f("low/b.go", "package low\nvar a = 1 + "+long+"\n", "low/b.go:2: got 122 columns")
	f("low/b.go", "package low\nvar a = f(\n\t\"a\", b+\"c\", \""+long+"\")\n", "low/b.go:3: got")
	f("low/b.go", "package low\nvar a = T{\n\tDoc: \""+long+"\",\n}\n", "")
	f("low/b.go", "package low\nvar a = []T{\n\t{1, \""+long+"\"},\n}\n", "")
	f("low/b.go", "package low\nvar a = `\n// "+long+"\n`\n", "")
	f("low/b.go", "package low\nfunc g() {\n\tf(\"a\", 1, \""+long+"\")\n}\n", "")
	f("low/b.go", "// Code generated by x. DO NOT EDIT.\n\npackage low\n// "+long+"\n", "")
	f("low/b.go", "package", "low/b.go")
	f("lib/a.star", "a = 1 + "+long+"\n", "lib/a.star:1: got 118 columns")
	f("lib/a.star", "a = f(\"a\", "+long+")\n", "lib/a.star:1: got 122 columns")
	f("lib/a.star", "a = f(\""+long+"\")\n", "")
	f("lib/a.star", "\"\"\"A table.\n"+long+"\n\"\"\"\n", "")
	f("tests/lang/a.star", "assert.eq(1, "+long+")\n", "")
}

// A pattern stands for the packages that no other layer names.
func TestExpand(t *testing.T) {
	file := &fstest.MapFile{}
	tree := fstest.MapFS{"a/b/x.go": file, "a/c/x.go": file, "a/c/y.go": file, "a/d/x.go": file,
		"a/d/e/x.go": file, "a/f/README.md": file}
	got, err := expand(tree, [][]string{{"z"}, {"a/*", "y"}, {"a/b"}})
	want := [][]string{{"z"}, {"a/c", "a/d", "y"}, {"a/b"}}
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestMissingPackage(t *testing.T) {
	faults, err := check(fstest.MapFS{}, rules{layers: [][]string{{"low"}}, planned: []string{"ghost"}})
	want := []string{
		"low is in a layer and does not exist; take it off the table",
		"ghost is planned and in no layer",
	}
	if err != nil || !slices.Equal(faults, want) {
		t.Errorf("got %q, %v, want %q", faults, err, want)
	}
}

// C files in a Go package must not become part of builds with cgo. A plain go build uses cgo if it
// finds a compiler, and the race detector needs it.
func TestProgramsInCAreNoPartOfBuilds(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".c":
			return nil
		}
		found++
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), "//go:build ignore\n\n") {
			t.Errorf("%s: want //go:build ignore in its first line (%v)", path, err)
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d sources, %v", found, err)
	}
}

// The tag nohub leaves out every import of the hub's server.
func TestServerHasATag(t *testing.T) {
	files, err := filepath.Glob("../../cmd/ppscript/fleet/*.go")
	if err != nil {
		t.Fatal(err)
	}
	tagged := 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || !strings.Contains(string(src), "nats-server/v2/server") {
			continue
		}
		line, _, _ := strings.Cut(string(src), "\n")
		if tagged++; !strings.HasPrefix(line, "//go:build ") || !strings.Contains(line, "!nohub") {
			t.Errorf("%s: names the server without //go:build !nohub", name)
		}
	}
	if tagged == 0 {
		t.Error("got no file that names the server")
	}
}
