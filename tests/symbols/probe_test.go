package symbols

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// What probe tells of a program is what perf probe tells: functions, the lines where a probe can be, and the
// variables there.
func TestProbeEqualsPerf(t *testing.T) {
	program := filepath.Join(t.TempDir(), "probed")
	source, err := filepath.Abs("testdata/probed.c")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Requires(t, testkit.Perf, testkit.GCC)
	testkit.Run(t, "gcc", "-g", "-O0", "-o", program, source).Want(t, 0)
	ours := func(args ...string) string {
		t.Helper()
		return testkit.Run(t, append([]string{testkit.PPScript(t), "probe", "-x", program},
			args...)...).Want(t, 0).Stdout
	}
	perfs := func(args ...string) string {
		t.Helper()
		return testkit.Run(t, append([]string{"perf", "probe", "-x", program}, args...)...).Want(t, 0).Stdout
	}

	// perf names some variables, too, and leaves out functions with _.
	theirs := strings.Fields(perfs("-F"))
	named := 0
	for _, name := range strings.Fields(ours("-F")) {
		if !strings.HasPrefix(name, "_") {
			if named++; !slices.Contains(theirs, name) {
				t.Errorf("-F: got %s, which perf does not have", name)
			}
		}
	}
	if got := strings.Fields(ours("-F", "t*al")); named < 3 || !slices.Equal(got, []string{"total"}) {
		t.Errorf("-F: got %d functions, and %q that match t*al, want total", named, got)
	}

	numbered := regexp.MustCompile(`(?m)^ +(\d+)  (.*)$`)
	lines := func(text string) (list []string) {
		for _, m := range numbered.FindAllStringSubmatch(text, -1) {
			list = append(list, m[1]+" "+strings.Join(strings.Fields(m[2]), " "))
		}
		return list
	}
	for _, what := range []string{"total", "total:2-4", "probed.c:14-20", "main"} {
		got, want := lines(ours("-L", what)), lines(perfs("-L", what))
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("-L %s: got lines %q, want perf's %q", what, got, want)
		}
	}

	names := func(text string) (list []string) {
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if n := len(words); n > 1 && !strings.HasPrefix(line, "Available") {
				list = append(list, words[n-1])
			}
		}
		slices.Sort(list)
		return slices.Compact(list) // perf probes a line at several addresses
	}
	for _, what := range []string{"total", "probed.c:16", "main"} {
		got, want := names(ours("-V", what)), names(perfs("-V", what))
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("-V %s: got variables %q, want perf's %q", what, got, want)
		}
	}
}

// Questions that have no answer get one that helps.
func TestProbeRefuses(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := func(want string, args ...string) {
		t.Helper()
		out := testkit.Run(t, append([]string{testkit.PPScript(t), "probe"}, args...)...)
		if out.Exit == 0 || !strings.Contains(out.Stderr, want) || !strings.Contains(out.Stderr, "hint: ") {
			t.Errorf("probe %q: got %d, %q, want %q and a hint", args, out.Exit, out.Stderr, want)
		}
	}
	f("want one of -F, -L and -V")
	f("want one of -F, -L and -V", "-F", "-L", "main")
	f("there is nothing to add", "--add", "vfs_read")
	f("there is nothing to add", "vfs_read")
	f("does not tell its source lines", "-L", "vfs_read")
	f("not an ELF file", "-x", script, "-F")
	f("no such function (did you mean main.main?)", "-x", testkit.PPScript(t), "-L", "main.mainn")
	f("no function matches", "-x", testkit.PPScript(t), "-F", "no_such_*")
	f("want numbers of lines", "-x", testkit.PPScript(t), "-L", "main.go:x")
}

// Functions of the kernel, and their arguments by its types.
func TestProbeOfKernel(t *testing.T) {
	testkit.Requires(t, append(slices.Clone(testkit.Live), testkit.Perf, testkit.BTF)...)
	got := testkit.Run(t, testkit.PPScript(t), "probe", "-F", "vfs_re*").Want(t, 0).Stdout
	want := strings.Fields(testkit.Run(t, "perf", "probe", "-F", "vfs_re*").Want(t, 0).Stdout)
	for _, name := range strings.Fields(got) {
		if !slices.Contains(want, name) {
			t.Errorf("got %s, which perf does not have", name)
		}
	}
	vars := testkit.Run(t, testkit.PPScript(t), "probe", "-V", "vfs_read").Want(t, 0).Stdout
	for _, name := range []string{"struct file *", "file", "buf", "size_t", "count", "pos"} {
		if !strings.Contains(got, "vfs_read\n") || !strings.Contains(vars, name) {
			t.Errorf("got %q and %q, want vfs_read with %s", got, vars, name)
		}
	}
}
