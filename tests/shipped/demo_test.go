package shipped

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// compiles is a stand-in for the go command: it prints the packages that it compiles, as go build
// -v does, and then succeeds or fails.
const compiles = `#!/bin/sh
i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo example.com/package$i >&2; done
case $0 in *wrong) echo "cmd/ppscript/main.go:7:2: undefined: nope" >&2; exit 1;; esac
ln -sf "$PROGRAM" ppscript
`

// TestDemo runs `make demo`, the first command of a new user: it explains its steps,
// and shows live results.
func TestDemo(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(testkit.Live, testkit.Program("make"))...)
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(tree+"/tests", dir+"/tests"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"right", "wrong"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(compiles), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	demo := func(compiler string) testkit.Output {
		line := "cd " + dir + " && PROGRAM=" + testkit.PPScript(t) + " make -f " + tree +
			"/Makefile demo GO=./" + compiler
		return testkit.StartFor(t, time.Minute, "sh", "-c", line).Wait()
	}
	out := demo("right")
	for _, want := range []string{"compiling; the first time it takes",
		"50 packages compiled, the last one example.com/package50",
		"\nexit_reason ", "two seconds of this machine's"} {
		if !strings.Contains(out.Stdout, want) {
			t.Errorf("no %q in\n%s", want, out.Stdout)
		}
	}
	if out.Exit != 0 || strings.Contains(out.Stdout, "package49") {
		t.Errorf("status %d\n%s%s", out.Exit, out.Stdout, out.Stderr)
	}
	if out := demo("wrong"); out.Exit == 0 || !strings.Contains(out.Stdout, "undefined: nope") {
		t.Errorf("a mistake: status %d\n%s", out.Exit, out.Stdout)
	}
}
