// Package jit tests the names of code that compilers make at run time, and of functions that
// interpreters run.
package jit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A result has the members of a record stacks that the tests use.
type result struct {
	Stacks []struct {
		Key   map[string]string
		Count int
		Value float64
		Stack []frame
	}
}

type frame struct {
	Symbol, DSO, File string
	Line              int
	Kernel            bool
}

// A pick returns the name under which a stack is counted; "" leaves the stack
// out.
type pick func(stack []frame) string

// innermost takes the innermost function of the user's code.
func innermost(stack []frame) string {
	for _, f := range stack {
		if !f.Kernel {
			return f.Symbol
		}
	}
	return ""
}

// shares counts the samples of a run by the name that pick returns for their
// stacks.
func shares(t *testing.T, output string, of pick) (by map[string]float64, all float64) {
	t.Helper()
	by = map[string]float64{}
	for _, r := range testkit.All[result](t, output, "stacks") {
		for _, s := range r.Stacks {
			by[of(s.Stack)] += float64(s.Count)
			all += float64(s.Count)
		}
	}
	return by, all
}

// near returns the differences between shares of samples and shares of the CPU
// times in want.
func near(by map[string]float64, want map[string]float64) (wrong []string) {
	sum, wanted := 0.0, 0.0
	for name := range want {
		sum += by[name]
		wanted += want[name]
	}
	for name, w := range want {
		got, w := by[name]/max(sum, 1), w/wanted
		if got < w-0.03 || got > w+0.03 {
			wrong = append(wrong, fmt.Sprintf("%s: got %.1f %% of %.0f samples, want %.1f %%",
				name, 100*got, sum, 100*w))
		}
	}
	return wrong
}

// jitter builds the program that generates functions at run time.
func jitter(t *testing.T) string {
	t.Helper()
	testkit.Requires(t, testkit.Samples, testkit.GCC)
	testkit.Requires(t, testkit.Live...)
	path := filepath.Join(t.TempDir(), "jitter")
	testkit.Run(t, "gcc", "-O1", "-o", path, "testdata/jitter.c").Want(t, 0)
	return path
}

// ownTimes parses the CPU times that the program reports for its functions.
func ownTimes(t *testing.T, said, first, second string) map[string]float64 {
	t.Helper()
	var a, b, moved float64
	if _, err := fmt.Sscan(said, &a, &b, &moved); err != nil {
		t.Fatalf("the program said %q: %v", said, err)
	}
	return map[string]float64{first: a, second: b + moved}
}

// profiled runs profile with a command, and returns the record of its stacks and the output of
// the command.
func profiled(t *testing.T, options []string, command ...string) (record, said string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	args := append([]string{testkit.PPScript(t), "profile", "-F", "999", "-g", "--top", "1000",
		"--format", "json", "-o", file}, options...)
	out := testkit.Run(t, append(append(args, "--"), command...)...).Want(t, 0)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), out.Stdout
}

var turns = []string{"300000000", "600000000", "150000000"}

// Code is generated at one address again and again: each sample has the name that
// was valid at its time, live.
func TestDumpIsReadWhileItIsWritten(t *testing.T) {
	path := jitter(t)
	testkit.Again(t, func() (wrong []string) {
		command := append(append([]string{path, t.TempDir()}, turns...), "3")
		record, said := profiled(t, []string{"--engine", "perf"}, command...)
		by, _ := shares(t, record, innermost)
		return near(by, ownTimes(t, said, "first_made", "second_made"))
	})
}

// Names in perf's recordings, without perf inject: with the clock of dumps, and with
// perf's own clock.
func TestDumpOfRecording(t *testing.T) {
	path := jitter(t)
	testkit.Requires(t, testkit.Perf)
	f := func(clock ...string) {
		t.Helper()
		testkit.Again(t, func() (wrong []string) {
			dir := t.TempDir()
			data := filepath.Join(dir, "perf.data")
			args := append([]string{"perf", "record", "-q", "-F", "999", "-g", "-o", data}, clock...)
			out := testkit.Run(t, append(append(append(args, "--", path, dir), turns...), "3")...).Want(t, 0)
			run := testkit.Run(t, testkit.PPScript(t), "--input", data, "profile", "-g", "--lines",
				"--top", "1000", "--format", "json").Want(t, 0)
			by, _ := shares(t, run.Stdout, innermost)
			wrong = near(by, ownTimes(t, out.Stdout, "first_made", "second_made"))
			lines, _ := shares(t, run.Stdout, func(stack []frame) string {
				for _, f := range stack {
					if f.DSO == "[jit]" {
						return fmt.Sprintf("%s %s:%d", f.Symbol, f.File, f.Line)
					}
				}
				return ""
			})
			for name := range lines {
				if name != "" && name != "first_made jitter.src:11" && name != "second_made jitter.src:21" &&
					!strings.HasSuffix(name, ":10") && !strings.HasSuffix(name, ":20") {
					wrong = append(wrong, "line: got "+name)
				}
			}
			if lines["first_made jitter.src:11"] == 0 {
				wrong = append(wrong, fmt.Sprintf("lines: got %v", lines))
			}
			return wrong
		})
	}
	f("-k", "CLOCK_MONOTONIC")
	f()
}

// A process in namespaces of its own removes its map when it ends, and its /tmp goes with it.
func TestMapOfDeadContainer(t *testing.T) {
	path := jitter(t)
	if err := exec.Command("unshare", "--mount", "--pid", "--fork", "true").Run(); err != nil {
		t.Skipf("no namespaces: %v", err)
	}
	copied := filepath.Join("/var/tmp", fmt.Sprintf("jitter-%d", os.Getpid()))
	testkit.Run(t, "cp", path, copied).Want(t, 0)
	defer os.Remove(copied)
	command := "mount -t tmpfs none /tmp && " + copied + " map 300000000 600000000 0 1; exit $?"
	testkit.Again(t, func() (wrong []string) {
		record, said := profiled(t, nil, "unshare", "--mount", "--pid", "--fork", "sh", "-c", command)
		by, _ := shares(t, record, innermost)
		return near(by, ownTimes(t, said, "first_mapped", "second_mapped"))
	})
}
