package symbol

import (
	"os/exec"
	"path/filepath"
	"testing"

	"ppscript/tests/testkit"
)

// Debug information that was compressed in the old way, .zdebug, tells the same lines.
func TestOldCompression(t *testing.T) {
	testkit.Requires(t, testkit.Binutils)
	path := program(t, "c")
	old := filepath.Join(t.TempDir(), "old")
	cmd := exec.Command("objcopy", "--compress-debug-sections=zlib-gnu", path, old)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, text)
	}
	lines := 0
	for line := 1; line < 60; line++ {
		want, wantErr := FindLine(path, "chain.c", line)
		got, err := FindLine(old, "chain.c", line)
		if len(got) != len(want) || (err == nil) != (wantErr == nil) {
			t.Errorf("line %d: got %v %v, want %v %v", line, got, err, want, wantErr)
		}
		lines += len(want)
	}
	if lines == 0 {
		t.Error("no line has code")
	}
}
