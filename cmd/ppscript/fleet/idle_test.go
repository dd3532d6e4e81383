//go:build !race && !nohub

package fleet

import (
	"os"
	"testing"
)

// Only a few processes are servers: the others do not wake once a second for what servers tell.
func TestIdle(t *testing.T) {
	if procStatFile == "" || procStatFile[0] != '/' {
		t.Fatalf("the package of the server has another variable: got %q", procStatFile)
	}
	before := procStatFile
	defer func() { procStatFile = before }()
	Idle()
	if _, err := os.ReadFile(procStatFile); err == nil {
		t.Error("the file can be read")
	}
}
