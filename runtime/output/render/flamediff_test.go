package render

import (
	"bytes"
	"strings"
	"testing"
)

// TestStacksOfOtherCommandsAreAlike checks that stacks of before are compared by their functions,
// not by the way they were written: marks behind names, and names of programs of which none is the
// same.
func TestStacksOfOtherCommandsAreAlike(t *testing.T) {
	f := func(before, after string, changed bool) {
		t.Helper()
		b, err := ParseFolded(strings.NewReader(before))
		if err != nil {
			t.Fatal(err)
		}
		a, err := ParseFolded(strings.NewReader(after))
		if err != nil {
			t.Fatal(err)
		}
		var svg, page bytes.Buffer
		if err := DiffFlameGraph(&svg, b, a, FlameOptions{About: "make, on host, 99 Hz"}); err != nil {
			t.Fatal(err)
		}
		if err := FlameHTML(&page, b, a, FlameOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(svg.String(), `fill="hsl(8,85%`); got != changed {
			t.Errorf("%q, then %q: got frames that grew from nothing: %t, want %t", before,
				after, got, changed)
		}
		if !strings.Contains(svg.String(), "make, on host, 99 Hz") ||
			!strings.Contains(page.String(), `"diff":true`) ||
			!strings.Contains(page.String(), "prefers-color-scheme:dark") {
			t.Error("got no picture of what changed, that tells of the run, as a page for dark screens")
		}
	}
	f("app;main;work;vfs_read_[k] 10\n", "app;main;work;vfs_read 20\n", false)
	f("app-1;main;work 10\n", "app-2;main;work 30\n", false)
	f("app;main;work 10\nother;main 10\n", "app;main;work 10\nmore;main 10\n", true)
}
