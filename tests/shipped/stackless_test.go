package shipped

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Events of this fold have no stacks, so files of stacks count them by their keys.
func TestStackFilesOfEventsWithoutStacks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.folded")
	testkit.Run(t, testkit.PPScript(t), "task-state", "--input", "../data/load.data", "--flame-graph",
		path).Want(t, 0)
	text, err := os.ReadFile(path)
	got := string(text)
	if err != nil || !strings.Contains(got, "load 369\n") || !strings.Contains(got, "sh 13\n") {
		t.Errorf("got %q, %v, want the states of each thread", text, err)
	}
}
