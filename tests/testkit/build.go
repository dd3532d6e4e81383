package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// This file builds programs of this module, each once for a test binary. The
// go command's cache makes it cheap.

const module = "ppscript/"

var built struct {
	sync.Mutex
	dir   string
	files map[string]string
}

// Main runs a package's tests and removes the programs that they built. A
// package that uses PPScript or Load has a TestMain that calls it.
func Main(m *testing.M) {
	code := m.Run()
	built.Lock()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	built.Unlock()
	os.Exit(code)
}

// builtEnv is a variable with a directory of built programs of this module. It is set in
// the guests of tests/vm, which have no go command, and for all packages of one run,
// because linking takes seconds.
const builtEnv = "PPSCRIPT_BUILT"

// Built returns a program of this module that was built before the tests began; ok is
// false if there is none.
func Built(pkg string) (file string, ok bool) {
	dir := os.Getenv(builtEnv)
	if dir == "" {
		return "", false
	}
	file = filepath.Join(dir, filepath.Base(pkg))
	_, err := os.Stat(file)
	return file, err == nil
}

// Build compiles a program of this module and returns its path.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	if file, ok := Built(pkg); ok {
		return file
	}
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "testkit")
		if err != nil {
			t.Fatal(err)
		}
		built.dir, built.files = dir, map[string]string{}
	}
	if file, ok := built.files[pkg]; ok {
		return file
	}
	file := filepath.Join(built.dir, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-trimpath", "-o", file, module+pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("build %s: %w\n%s", pkg, err, text))
	}
	built.files[pkg] = file
	return file
}

// PPScript returns the path of the ppscript binary.
func PPScript(t testing.TB) string {
	t.Helper()
	return Build(t, "cmd/ppscript")
}

// Load returns the path of the target program; see its package comment.
func Load(t testing.TB) string {
	t.Helper()
	return Build(t, "tests/testkit/load")
}

// Path returns the absolute path of a file of this module, given its name below the module's root. The root
// is the nearest directory above the test's own with a go.mod, so binaries built with -trimpath find it too.
func Path(name string) string {
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join("/nowhere", name) // in a guest, for example, which has no sources
}
