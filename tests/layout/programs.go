package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file checks that tests declare the programs that they run (testkit.Requires): on a machine
// without such a program the test is then skipped, and names the program. The check follows all
// functions and variables of its package and of testkit that a test names, directly or indirectly.
// It does not see programs within a shell command: tests/cleanroot.sh finds those.

// everywhere are programs that every Debian has (packages marked essential), and the go command,
// which runs the tests.
var everywhere = strings.Fields(`bash cat chmod chroot cp dd go grep install ldd ls mkdir mkfifo nice nproc
	nsenter rm sed setpriv sh sleep tar taskset timeout touch true unshare`)

// brought are the programs that are installed together with the program that a
// need checks.
var brought = map[string][]string{
	"Binutils":  {"addr2line", "as", "nm", "objcopy", "objdump", "readelf", "strip"},
	"GCC":       {"addr2line", "as", "gcc", "nm", "objcopy", "objdump", "readelf", "strip"}, // needs binutils
	"Go":        {"go"},
	"SSH":       {"ssh", "ssh-keygen"},
	"SSHServer": {"sshd"},
}

const testkitDir = "tests/testkit"

// A piece is a function or a variable, with the programs that it runs, the programs that it
// declares, and the other pieces that it names.
type piece struct {
	runs, needs map[string]bool
	names       map[string]bool
}

// undeclared returns the tests that run programs without declaring them.
func undeclared(tree fs.FS) (faults []string, err error) {
	pieces := map[string]*piece{} // by directory and name
	tests := map[string]bool{}
	brings := map[string][]string{}
	var files []string
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata":
			return fs.SkipDir
		case strings.HasSuffix(name, "_test.go"),
			strings.HasPrefix(name, "tests/") && path.Ext(name) == ".go":
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	parsed := map[string]*ast.File{}
	for _, name := range files {
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		if parsed[name], err = parser.ParseFile(token.NewFileSet(), name, src, 0); err != nil {
			return nil, err
		}
		if path.Dir(name) == testkitDir {
			findNeeds(parsed[name], brings)
		}
	}
	for more, list := range brought {
		brings[more] = append(brings[more], list...)
	}
	for _, name := range files {
		dir := path.Dir(name)
		for _, decl := range parsed[name].Decls {
			for _, part := range parts(decl) {
				key := dir + "." + part.name
				p := pieces[key]
				if p == nil {
					p = &piece{map[string]bool{}, map[string]bool{}, map[string]bool{}}
					pieces[key] = p
				}
				if key == "tests/vm.tools" { // the needs of vm.Run
					p.needAll(part.node)
				}
				p.read(part.node, dir, brings)
				if testName.MatchString(part.name) && strings.HasSuffix(name, "_test.go") {
					tests[key] = true
				}
			}
		}
	}
	const undeclared = "%s runs %s, and declares no need of it (testkit.Requires)"
	for _, key := range slices.Sorted(maps.Keys(tests)) {
		runs, needs := map[string]bool{}, map[string]bool{}
		reach(pieces, key, map[string]bool{}, runs, needs)
		for _, program := range slices.Sorted(maps.Keys(runs)) {
			if !needs[program] && !slices.Contains(everywhere, program) {
				faults = append(faults, fmt.Sprintf(undeclared, key, program))
			}
		}
	}
	return faults, nil
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`)

// findNeeds finds the needs that stand for one program: GDB = program("gdb", "gdb",
// true).
func findNeeds(file *ast.File, brings map[string][]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			for i, value := range v.Values {
				call, ok := value.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					continue
				}
				if fn, ok := call.Fun.(*ast.Ident); ok && (fn.Name == "program" || fn.Name == "installed") {
					if text, ok := literal(call.Args[0]); ok {
						brings[v.Names[i].Name] = append(brings[v.Names[i].Name], text)
					}
				}
			}
		}
		return true
	})
}

// A part is a named declaration in a file.
type part struct {
	name string
	node ast.Node
}

func parts(decl ast.Decl) (list []part) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		list = append(list, part{d.Name.Name, d})
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range v.Names {
					list = append(list, part{name.Name, v})
				}
			}
		}
	}
	return list
}

// runners are functions that run a program, with the index of the argument that names it.
var runners = map[string]int{
	"exec.Command": 0, "exec.CommandContext": 1, "testkit.Run": 1, "testkit.Start": 1, "testkit.StartFor": 2,
	"testkit.RunAs": 2, "testkit.StartOrdinary": 2,
}

// read records the programs, needs and names in a part of a file.
func (p *piece) read(n ast.Node, dir string, brings map[string][]string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if at, ok := runners[callee(n, dir)]; ok && at < len(n.Args) {
				if text, ok := literal(n.Args[at]); ok {
					p.run(text)
				}
			} else if callee(n, dir) == "testkit.Program" {
				if text, ok := literal(n.Args[0]); ok {
					p.needs[text] = true
				}
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "testkit" {
				p.name(testkitDir, n.Sel.Name, brings)
			} else {
				p.name(dir, n.Sel.Name, nil)
			}
		case *ast.Ident:
			if dir == testkitDir {
				p.name(dir, n.Name, brings)
			} else {
				p.name(dir, n.Name, nil)
			}
		}
		return true
	})
}

// needAll records each text as a need.
func (p *piece) needAll(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			if text, ok := literal(lit); ok {
				p.needs[text] = true
			}
		}
		return true
	})
}

// run records a program. A file that is named by its path belongs to the tests, unless it is
// Debian's.
func (p *piece) run(program string) {
	if dir := path.Dir(program); dir == "/usr/bin" || dir == "/usr/sbin" {
		program = path.Base(program)
	}
	if !strings.Contains(program, "/") {
		p.runs[program] = true
	}
}

func (p *piece) name(dir, name string, brings map[string][]string) {
	p.names[dir+"."+name] = true
	for _, program := range brings[name] {
		p.needs[program] = true
	}
}

// callee returns the name of a called function: exec.Command, testkit.Run, also within
// testkit.
func callee(call *ast.CallExpr, dir string) string {
	switch fn := call.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := fn.X.(*ast.Ident); ok {
			return x.Name + "." + fn.Sel.Name
		}
	case *ast.Ident:
		if dir == testkitDir {
			return "testkit." + fn.Name
		}
	}
	return ""
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// reach collects the programs that a piece runs and declares, directly or
// through the pieces that it names.
func reach(pieces map[string]*piece, key string, seen, runs, needs map[string]bool) {
	p := pieces[key]
	if p == nil || seen[key] {
		return
	}
	seen[key] = true
	maps.Copy(runs, p.runs)
	maps.Copy(needs, p.needs)
	for name := range p.names {
		reach(pieces, name, seen, runs, needs)
	}
}

// undeclaredCommands returns the lines of command scripts that run a program without a condition
// for it: [has:NAME] before the command, or [!has:NAME] skip above it.
func undeclaredCommands(tree fs.FS) (faults []string, err error) {
	names, err := fs.Glob(tree, "tests/script/*.txtar")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		commands, _, _ := strings.Cut("\n"+string(src), "\n-- ")
		for n, line := range strings.Split(commands, "\n") { // the first is empty
			m := command.FindStringSubmatch(line)
			if m == nil || slices.Contains(everywhere, m[2]) || strings.HasPrefix(m[2], "ppscript") ||
				strings.ContainsAny(m[2], "/$.") {
				continue
			}
			program := m[2]
			if program == "umount" { // umount comes with mount
				program = "mount"
			}
			has := "has:" + program + "]"
			if strings.Contains(m[1], "["+has) || strings.Contains(commands, "\n[!"+has+" skip") {
				continue
			}
			faults = append(faults,
				fmt.Sprintf("%s:%d runs %s without a condition [%s", name, n, program, has))
		}
	}
	return faults, nil
}

// command matches a line that runs a program: conditions, then the program.
var command = regexp.MustCompile(`^((?:\[[^\]]*\] )*)(?:! )?(?:exec|fails \d+|exits \d+) (\S+)`)
