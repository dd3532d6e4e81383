package jit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Functions of JavaScript have the shares that the program measured, with a jitdump and with a map.
// A function that was interpreted, then compiled and compiled again, has one name.
func TestNodeFunctionsAreNamed(t *testing.T) {
	testkit.Requires(t, testkit.Samples, testkit.Program("node"))
	testkit.Requires(t, testkit.Live...)
	script, err := filepath.Abs("testdata/burn.js")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // directory of the files that the program writes
	f := func(flags string) {
		t.Helper()
		testkit.Again(t, func() (wrong []string) {
			record, said := profiled(t, nil, "sh", "-c", "cd "+dir+" && exec node "+flags+" "+script+" 1.5")
			var much, little float64
			if _, err := fmt.Sscan(said, &much, &little); err != nil {
				t.Fatalf("the program said %q: %v", said, err)
			}
			by, _ := shares(t, record, func(stack []frame) string {
				for _, f := range stack {
					if name, at, _ := strings.Cut(f.Symbol, " "); strings.Contains(at, "burn.js:") {
						return name
					}
				}
				return ""
			})
			return near(by, map[string]float64{"much": much, "little": little})
		})
	}
	f("--perf-prof")

	before, err := filepath.Glob("/tmp/perf-*.map")
	if err != nil {
		t.Fatal(err)
	}
	f("--perf-basic-prof --interpreted-frames-native-stack")
	after, err := filepath.Glob("/tmp/perf-*.map")
	if err != nil {
		t.Fatal(err)
	}
	had := map[string]bool{}
	for _, path := range before {
		had[path] = true
	}
	for _, path := range after {
		text, err := os.ReadFile(path)
		if !had[path] && err == nil && strings.Contains(string(text), "testdata/burn.js") {
			_ = os.Remove(path) // it is ours
		}
	}
}
