package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Commands that read files of others are behind walls before they open one.
func TestReadersAreConfined(t *testing.T) {
	testkit.Requires(t, testkit.Strace)
	data, err := filepath.Abs("../../tests/data/load.data")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "a_test.star")
	if err := os.WriteFile(script, []byte("def test_a():\n    assert.eq(1, 1)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, args string }{
		{data, "info"},
		{script, "test"},
		{"/bin/true", "--symbols"},
		{data, "top -e sched:sched_switch --input"},
	} {
		trace := filepath.Join(dir, "trace")
		args := append([]string{"strace", "-f", "-o", trace, "-e", "trace=seccomp,prctl,openat",
			testkit.PPScript(t)}, strings.Fields(c.args)...)
		testkit.Run(t, append(args, c.file)...).Want(t, 0)
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		before, _, opened := strings.Cut(string(text), `AT_FDCWD, "`+c.file+`"`)
		if !opened {
			t.Fatalf("%s: the file is not opened:\n%s", c.args, text)
		}
		for _, wall := range []string{"PR_SET_NO_NEW_PRIVS", "SECCOMP_SET_MODE_FILTER"} {
			if !strings.Contains(before, wall) {
				t.Errorf("%s: %s comes after the file is opened", c.args, wall)
			}
		}
	}
}

// Who keeps all rights is told so.
func TestNoSandboxIsSaid(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	for _, args := range [][]string{
		{"record", "-e", "sched:sched_process_exec", "-o", filepath.Join(t.TempDir(), "x")}, {"syscalls"},
	} {
		args = append(append([]string{testkit.PPScript(t)}, args...), "--no-sandbox", "--", "true")
		if out := testkit.Run(t, args...).Want(t, 0); strings.Count(out.Stderr, "--no-sandbox: ") != 1 {
			t.Errorf("%v: got %s", args, out.Stderr)
		}
	}
}
