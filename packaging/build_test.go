package main

import (
	"strings"
	"testing"
)

// Releases built by a Go with known vulnerabilities get a warning, releases by a
// newer Go do not.
func TestWarning(t *testing.T) {
	for v, want := range map[string]bool{"go1.26.8": true, "go1.25.12": true, "go1.26rc1": true,
		mended: false, "go1.26.11": false, "go1.27": false, "go1.27rc1": false, "devel go1.27-abc": false} {
		if got := warning(v); (got != "") != want || want && !strings.Contains(got, mended) {
			t.Errorf("%s: got %q, want a warning: %t", v, got, want)
		}
	}
}
