package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const module = "ppscript/"

// longPackages run only with -all: each of their tests boots guests, runs other tools or observes
// for seconds.
var longPackages = names(
	"tests/agents", "tests/bench", "tests/compare", "tests/editors", "tests/engines", "tests/flat", "tests/fleet",
	"tests/guide", "tests/jit", "tests/matrix", "tests/oracle", "tests/packages", "tests/prompt", "tests/readers",
	"tests/soak", "tests/symbols", "tests/tiers", "tests/units", "tests/vm", "tests/why",
)

// alonePackages run one after another: each traces events that other tests would cause, or measures
// times that other tests would change. All other packages observe only their own processes, or
// none.
var alonePackages = names(
	"bpf", "bpf/load", "cmd/ppscript", "runtime/system/kernel", "runtime/source/perf", "runtime/source/probe",
	"runtime/source/relay", "runtime/source/tracefs", "runtime/session", "runtime/target/task", "tests/bench", "tests/engines", "tests/flat",
	"tests/guide", "tests/oracle", "tests/soak", "tests/testkit", "tests/units", "tests/why",
)

// guestPackages observe only their guests, and use at most half of the CPUs: they run at the same
// time as alonePackages, at a lower priority.
var guestPackages = names("tests/vm")

// unracedPackages are packages whose short tests -all does not run with the race detector, with the
// reason.
var unracedPackages = map[string]string{
	module + "tests/book":    runsProgram,
	module + "tests/shipped": runsProgram,
	module + "tests/layout":  "it reads the sources",
}

// runsProgram is the reason for packages that only run the program, which is built without the
// race detector.
const runsProgram = "it runs the program, which has no detector"

func names(dirs ...string) []string {
	for i := range dirs {
		dirs[i] = module + dirs[i]
	}
	return dirs
}

// A testPackage is a package that has tests.
type testPackage struct {
	path string
	// long means that only -all runs the package; hasLong means that this holds
	// for some of its tests.
	long, hasLong bool
}

// raced reports whether -all runs the package's short tests with the race
// detector.
func (p *testPackage) raced() bool { return !p.long && unracedPackages[p.path] == "" }

// leftToAll matches the call by which a test declares that it is long.
var leftToAll = regexp.MustCompile(`testkit\.Long\b|testing\.Short\(\)`)

func testPackages(ctx context.Context) ([]testPackage, error) {
	out, err := output(ctx, "go", "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	var list []testPackage
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		files := append(p.TestGoFiles, p.XTestGoFiles...)
		if len(files) == 0 {
			continue
		}
		t := testPackage{path: p.ImportPath, long: slices.Contains(longPackages, p.ImportPath)}
		if t.hasLong, err = anyHas(p.Dir, files, leftToAll); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// anyHas reports whether one of the files matches.
func anyHas(dir string, files []string, what *regexp.Regexp) (bool, error) {
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil || what.Match(text) {
			return err == nil, err
		}
	}
	return false, nil
}

// build links the programs that most tests need, once.
func build(ctx context.Context, dir string, o options) error {
	programs := []string{"./cmd/ppscript", "./tests/testkit/load"}
	if o.all {
		programs = append(programs, "./tests/soak", "./tests/vm/minikvm")
	}
	args := append([]string{"build", "-trimpath", "-o", dir + "/"}, programs...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return os.Setenv("PPSCRIPT_BUILT", dir)
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return out, nil
}

// debian lists the Debian packages and Node modules that -all needs, with their purposes. .ci/run
// installs them.
//
//go:embed needs.txt
var debian string

// installed returns an error that names all missing needs of -all, with the commands that install
// them; nil if nothing is missing.
func installed(ctx context.Context) error {
	var missing, modules []string
	for line := range strings.Lines(debian) {
		words, _, _ := strings.Cut(line, "#")
		for _, word := range strings.Fields(words) {
			if pkg, isModule := strings.CutPrefix(word, "npm:"); isModule {
				modules = append(modules, pkg)
			} else if !hasPackage(ctx, word) {
				missing = append(missing, word)
			}
		}
	}
	var commands []string
	if len(missing) > 0 {
		install := "sudo apt-get install --no-install-recommends "
		commands = append(commands, install+strings.Join(missing, " "))
	}
	if absent := absentModules(ctx, modules); len(absent) > 0 {
		commands = append(commands, "sudo npm install --global "+strings.Join(absent, " "))
	}
	if len(commands) == 0 {
		return nil
	}
	return fmt.Errorf("the long tests need programs that are not installed:\n\n    %s\n\n"+
		"hint: or leave out the tests that need them: make test-all ANYWAY=1",
		strings.Join(commands, "\n    "))
}

// hasPackage reports whether a Debian package is installed. A Node with its own npm conflicts with
// Debian's npm, and is as good.
func hasPackage(ctx context.Context, name string) bool {
	if _, err := exec.LookPath(name); err == nil && (name == "npm" || name == "nodejs") {
		return true
	} else if _, err := exec.LookPath("node"); err == nil && name == "nodejs" {
		return true
	}
	out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Status}", name).Output()
	return err == nil && strings.HasPrefix(string(out), "install ok installed")
}

func absentModules(ctx context.Context, modules []string) []string {
	root, err := exec.CommandContext(ctx, "npm", "root", "--global").Output()
	dir := strings.TrimSpace(string(root))
	return slices.DeleteFunc(slices.Clone(modules), func(m string) bool {
		name := m[:max(0, strings.LastIndex(m, "@"))]
		_, statErr := os.Stat(filepath.Join(dir, name, "package.json"))
		return err == nil && statErr == nil
	})
}

// A phase is one call of the go command; beside are packages that another call runs at the same
// time.
type phase struct {
	packages, beside, flags []string
	race                    bool
}

func (p phase) run(ctx context.Context, r *report) {
	var wait sync.WaitGroup
	if len(p.beside) > 0 {
		nice := append([]string{"nice", "-n", "5"}, goTestArgs(p.flags, p.beside)...)
		wait.Go(func() { goTest(ctx, r, p.race, nice) })
	}
	goTest(ctx, r, p.race, goTestArgs(p.flags, p.packages))
	wait.Wait()
}

func goTestArgs(flags, packages []string) []string {
	return slices.Concat([]string{"go", "test", "-json"}, flags, packages)
}

func goTest(ctx context.Context, r *report, race bool, args []string) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// A process group of its own has the go command, the tests, and the
	// processes that they start.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if race { // the race detector needs C
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.fault(err)
		return
	}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
			r.failedRun() // the report names the tests or packages
			return
		}
		r.fault(fmt.Errorf("go test: %w", err))
	}
}
