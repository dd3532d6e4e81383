package vm

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ppscript/tests/testkit"
)

// This file builds programs for guests. Tests share them: each is built once,
// by the first test that needs it, while guests of other tests run.

const module = "ppscript/"

// programs are the built programs, by the command that built them.
var programs struct {
	sync.Mutex
	dir  string
	made map[string]*program
}

type program struct {
	once sync.Once
	file string
	err  error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "programs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs.dir, programs.made = dir, map[string]*program{}
	flag.Parse()
	// Guests wait about half of the time: for their disks, and for time-outs.
	if n := runtime.NumCPU(); flag.Lookup("test.parallel").Value.String() == strconv.Itoa(n) {
		flag.Set("test.parallel", strconv.Itoa(n+n/2))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// shared returns the program that a command builds; the last argument is the
// source, and -o names the output.
func shared(t *testing.T, name string, env []string, args ...string) string {
	t.Helper()
	programs.Lock()
	what := strings.Join(append(env, args...), " ")
	p := programs.made[what]
	if p == nil {
		p = &program{file: filepath.Join(programs.dir, fmt.Sprint(len(programs.made)), name)}
		programs.made[what] = p
	}
	programs.Unlock()
	p.once.Do(func() {
		last := len(args) - 1
		cmd := exec.Command(args[0], append(args[1:last:last], "-o", p.file, args[last])...)
		cmd.Env = append(os.Environ(), env...)
		if p.err = os.Mkdir(filepath.Dir(p.file), 0o700); p.err != nil {
			return
		}
		if text, err := cmd.CombinedOutput(); err != nil {
			p.err = fmt.Errorf("%s: %w\n%s", what, err, text)
		}
	})
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.file
}

// build compiles a static program of this module for guests of an
// architecture.
func build(t *testing.T, arch, pkg string) string {
	t.Helper()
	if file, ok := testkit.Built(pkg); ok && arch == runtime.GOARCH {
		return file
	}
	return goProgram(t, arch, filepath.Base(pkg), "build", module+pkg)
}

// goProgram makes a static program with the go command: "build" or "test".
func goProgram(t *testing.T, arch, name string, args ...string) string {
	t.Helper()
	return shared(t, name, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch},
		append([]string{"go"}, args...)...)
}

// cProgram compiles a static C program.
func cProgram(t *testing.T, arch, source string, flags ...string) string {
	t.Helper()
	cc := machineOf(arch).cc
	if _, err := exec.LookPath(cc); err != nil {
		const hint = "needs %s, of Debian's package gcc or gcc-aarch64-linux-gnu"
		if os.Getenv(requireEnv) == "require" {
			t.Fatalf(hint, cc)
		}
		t.Skipf(hint, cc)
	}
	args := append(append([]string{cc}, flags...), "-O2", "-static", source)
	return shared(t, strings.TrimSuffix(filepath.Base(source), ".c"), nil, args...)
}
