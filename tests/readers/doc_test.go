// Package readers reads the files that ppscript writes for other tools with these
// tools, or with decoders that share no code with the writers, and compares the content
// with ppscript's own results.
package readers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// data is the path of a recording.
func data(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../data", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// browse returns the document of a page after headless Chromium has run its scripts.
func browse(t *testing.T, url string) string {
	t.Helper()
	profile := t.TempDir()
	cmd := exec.Command("timeout", "-k", "5", "120", "chromium", "--headless", "--no-sandbox",
		"--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--allow-file-access-from-files",
		"--user-data-dir="+profile, "--virtual-time-budget=10000", "--dump-dom", url)
	var noise strings.Builder
	cmd.Stderr = &noise
	// Its child processes may hold the pipes longer than it lives.
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%.2000s", err, noise.String())
	}
	return string(out)
}

// folded adds up folded stacks: the total of all, and for each function the total of
// the stacks that contain it, and of those in which it is innermost.
func folded(t *testing.T, path string) (all int64, total, self map[string]int64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	total, self = map[string]int64{}, map[string]int64{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndexByte(strings.TrimSpace(line), ' ')
		n, err := strconv.ParseInt(strings.TrimSpace(line[at+1:]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Split(line[:at], ";")
		seen := map[string]bool{}
		for _, name := range names {
			if !seen[name] {
				total[name] += n
			}
			seen[name] = true
		}
		self[names[len(names)-1]] += n
		all += n
	}
	return all, total, self
}
