package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Names of C++ keep their blanks in folded stacks, and no kernel function is
// below user code.
func TestFoldedNamesAreReadable(t *testing.T) {
	live(t, testkit.Samples)
	program := compiled(t, "names.cc", "-O1", "-fomit-frame-pointer")
	fold := filepath.Join(t.TempDir(), "names.folded")
	testkit.Run(t, testkit.PPScript(t), "profile", "-F", "997", "-g", "--user-callchain=fp",
		"--exclude-kernel", "-o", "/dev/null", "--flame-graph", fold,
		"--", program, "30").Want(t, 0)
	text, err := os.ReadFile(fold)
	if err != nil || len(text) == 0 {
		t.Fatal(len(text), err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `\x20`) || strings.Contains(line, "Unknown") ||
			strings.Contains(line, "[kernel.kallsyms]") {
			t.Errorf("got %s", line)
		}
	}
}
