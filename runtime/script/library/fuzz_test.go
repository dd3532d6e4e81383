package library

import (
	"os"
	"path/filepath"
	"testing"
)

// A file of sums that is read is written as one that says the same.
func FuzzSums(f *testing.F) {
	f.Add("a.b/c v1.0.0 h1:abc=\na.b/c v1.0.0/mod h1:x\n\n")
	f.Add("a b h1:\na b h1:x\n")
	f.Add("a b c d\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(dir, "sum")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := readSum(name)
		if err != nil {
			return
		}
		if err := os.WriteFile(name, s.format(), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := readSum(name)
		if err != nil || len(again.lines) != len(s.lines) {
			t.Errorf("%q: got %d lines and %v, want %d", text, len(again.lines), err, len(s.lines))
		}
	})
}
