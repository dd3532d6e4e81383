package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// rules are the tables with which a tree is compared.
type rules struct {
	layers  [][]string
	planned []string
	owners  map[string][]string
	mayExit []string
}

// check returns the faults of the tree, a sentence for each, in the order of
// the files.
func check(tree fs.FS, r rules) ([]string, error) {
	var err error
	if r.layers, err = expand(tree, r.layers); err != nil {
		return nil, err
	}
	c := checker{
		rules: r, rank: map[string]int{}, reported: map[string]bool{}, documented: map[string]bool{},
	}
	for i, layer := range r.layers {
		for _, pkg := range layer {
			c.rank[pkg] = i
		}
	}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
			return fs.SkipDir
		}
		if ext := path.Ext(name); d.IsDir() || ext != ".go" && ext != ".star" {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		switch {
		case err != nil:
			return err
		case path.Ext(name) == ".star":
			c.starColumns(name, src)
		default:
			c.file(name, src)
		}
		return nil
	})
	c.packages()
	return c.faults, err
}

// expand replaces each DIRECTORY/* by the packages in the directory that no layer names.
func expand(tree fs.FS, layers [][]string) (all [][]string, err error) {
	named := slices.Concat(layers...)
	for _, layer := range layers {
		var row []string
		for _, pkg := range layer {
			if path.Base(pkg) != "*" {
				row = append(row, pkg)
				continue
			}
			files, err := fs.Glob(tree, pkg+"/*.go")
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				dir := path.Dir(file)
				if !slices.Contains(named, dir) && !slices.Contains(row, dir) {
					row = append(row, dir)
				}
			}
		}
		all = append(all, row)
	}
	return all, nil
}

type checker struct {
	rules
	rank       map[string]int
	reported   map[string]bool
	documented map[string]bool
	faults     []string
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) file(name string, src []byte) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		c.fault("%v", err)
		return
	}
	if !ast.IsGenerated(file) {
		c.columns(name, src)
		c.words(fset, file)
	}
	pkg := path.Dir(name)
	isTest := strings.HasSuffix(name, "_test.go")
	if !isTest {
		c.reported[pkg] = true
		c.documented[pkg] = c.documented[pkg] || saysWhatFor(file)
	}
	if isTest || strings.HasPrefix(pkg, "tests/") {
		return
	}
	if _, ok := c.rank[pkg]; !ok {
		c.fault("%s: package %s is in no layer; decide what may import it", name, pkg)
		return
	}
	c.comments(name, file)
	for _, spec := range file.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		c.imported(name, pkg, imp)
	}
	if !within(pkg, c.mayExit) {
		c.exits(name, file)
	}
}

// saysWhatFor reports whether the file has a package comment in go doc's form.
// A command's comment starts with its own name.
func saysWhatFor(f *ast.File) bool {
	if f.Doc == nil {
		return false
	}
	return f.Name.Name == "main" || strings.HasPrefix(f.Doc.Text(), "Package "+f.Name.Name+" ")
}

func (c *checker) imported(file, pkg, imp string) {
	if to, ok := strings.CutPrefix(imp, module+"/"); ok {
		if r, ok := c.rank[to]; !ok || r >= c.rank[pkg] {
			c.fault("%s imports %s, which is not in a lower layer than %s", file, to, pkg)
		}
		return
	}
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return // the standard library
	}
	for mod, pkgs := range c.owners {
		if imp == mod || strings.HasPrefix(imp, mod+"/") {
			if !within(pkg, pkgs) {
				c.fault("%s imports %s, which only %v and tests may", file, imp, pkgs)
			}
			return
		}
	}
	c.fault("%s imports %s, whose module has no owner; say who may import it", file, imp)
}

// within reports whether pkg is one of pkgs or below one.
func within(pkg string, pkgs []string) bool {
	return slices.ContainsFunc(pkgs, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
}

// exits finds calls that end the process without returning to the caller.
func (c *checker) exits(name string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if ok && (x.Name == "os" && sel.Sel.Name == "Exit" ||
			x.Name == "log" && strings.HasPrefix(sel.Sel.Name, "Fatal")) {
			c.fault("%s calls %s.%s; return an error, only %v may end the process", name, x.Name,
				sel.Sel.Name, c.mayExit)
		}
		return true
	})
}

// packages makes the checks that need all files.
func (c *checker) packages() {
	for _, layer := range c.layers {
		for _, pkg := range layer {
			switch expected := slices.Contains(c.planned, pkg); {
			case c.reported[pkg] && expected:
				c.fault("%s exists; take it off the planned list", pkg)
			case !c.reported[pkg] && !expected:
				c.fault("%s is in a layer and does not exist; take it off the table", pkg)
			}
		}
	}
	for _, pkg := range c.planned {
		if _, ok := c.rank[pkg]; !ok {
			c.fault("%s is planned and in no layer", pkg)
		}
	}
	var mute []string
	for pkg := range c.reported {
		if !c.documented[pkg] {
			mute = append(mute, pkg)
		}
	}
	slices.Sort(mute)
	for _, pkg := range mute {
		c.fault("%s: no comment that says what the package is for", pkg)
	}
}
