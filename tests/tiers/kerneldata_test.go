package tiers

import (
	"path/filepath"
	"strings"
	"testing"

	"ppscript/docs"
	"ppscript/tests/testkit"
)

// The commands of docs/kernel-data.md work, and have results.
func TestCommandsOfKernelData(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	path := "PATH=" + filepath.Dir(testkit.PPScript(t)) + ":$PATH\n"
	n := 0
	for line := range strings.Lines(docs.KernelData) {
		command, ok := strings.CutPrefix(line, "    ppscript ")
		if !ok || strings.HasPrefix(command, " ") {
			continue // rows of an output, whose first column may be ppscript
		}
		n++
		out := testkit.Run(t, "bash", "-c", path+"ppscript "+command).Want(t, 0)
		if strings.TrimSpace(out.Stdout) == "" || strings.Contains(out.Stdout+out.Stderr, "error") {
			t.Errorf("%s\ngot %q\n%s", command, out.Stdout, out.Stderr)
		}
	}
	if n < 8 {
		t.Errorf("got %d commands on the page, want them all", n)
	}
}
