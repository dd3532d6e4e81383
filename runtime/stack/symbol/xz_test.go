package symbol

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// packed is a text under xz with these options.
func packed(t *testing.T, text []byte, options ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("xz")
	if err != nil {
		t.Skip("needs the program xz (xz-utils)")
	}
	cmd := exec.Command(path, append([]string{"-c"}, options...)...)
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUnpackXZ(t *testing.T) {
	text := []byte(strings.Repeat("where functions begin, and what they are called\n", 5000))
	for _, options := range [][]string{nil, {"-9"}, {"-0"}, {"-T2"}, {"--check=none"}, {"--check=crc32"},
		{"--check=sha256"}} {
		got, err := unpackXZ(packed(t, text, options...))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("xz %v: got %d bytes, want %d: %v", options, len(got), len(text), err)
		}
	}
	// A later block could ask for any dictionary.
	if _, err := unpackXZ(packed(t, text, "--block-size=4096")); err == nil {
		t.Error("several blocks: got no error")
	}
	if _, err := unpackXZ(packed(t, text, "--lzma2=preset=6,dict=128MiB")); err == nil ||
		!strings.Contains(err.Error(), "too large") {
		t.Errorf("a large dictionary: got %v", err)
	}
	whole := packed(t, text)
	for n := range len(whole) {
		got, err := unpackXZ(whole[:n])
		if err == nil && !bytes.Equal(got, text) {
			t.Fatalf("cut to %d bytes: got %d bytes and no error", n, len(got))
		}
	}
}
