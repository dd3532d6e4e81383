package c

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// TestKernelPrintFmts parses the print fmt of every tracepoint of the running
// kernel.
func TestKernelPrintFmts(t *testing.T) {
	const dir = "/sys/kernel/tracing/events"
	files, _ := filepath.Glob(dir + "/*/*/format")
	if len(files) == 0 {
		testkit.Requires(t, testkit.Root, testkit.Tracefs)
		t.Fatalf("no formats in %s", dir)
	}
	parsed := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the event's module was just unloaded
		}
		_, fmt, ok := strings.Cut(string(text), "print fmt: ")
		if !ok {
			continue
		}
		args, err := ParseArgs(strings.TrimSpace(fmt))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		parsed++
		// Printing and parsing again gives the same tree.
		for _, a := range args {
			again, err := Parse(a.String())
			if err != nil {
				t.Errorf("%s: again: %v", file, err)
			} else if again.String() != a.String() {
				t.Errorf("%s: got %s again, want %s", file, again, a)
			}
		}
	}
	if parsed < len(files)/2 {
		t.Errorf("got %d print fmts parsed of %d files", parsed, len(files))
	}
}
