package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A link to something without an end is an error, and takes bounded memory.
func TestEndlessFilesAreNoScripts(t *testing.T) {
	link := filepath.Join(t.TempDir(), "zero.star")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	_, err := NewHost(HostOptions{}).Load(link)
	if err == nil || !strings.Contains(err.Error(), "is no script: it has more than 8 MiB") {
		t.Errorf("got %v, want that it is no script", err)
	}
}
