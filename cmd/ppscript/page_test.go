package main

import "testing"

func TestLayout(t *testing.T) {
	f := func(l layout, in, want string) {
		t.Helper()
		if got := l.text(in); got != want {
			t.Errorf("width %d, hang %v:\n%s\ngot\n%s\nwant\n%s", l.width, l.hang, in, got, want)
		}
	}
	// Paragraphs are filled anew, in both directions; blank lines stay.
	f(layout{width: 20}, "one two three four five\nsix\n\nseven\n", "one two three four\nfive six\n\nseven\n")
	// Output stays as it is; commands go on behind a backslash, outside quotes.
	f(layout{width: 20}, "    PID      RUNTIME COMM\n", "    PID      RUNTIME COMM\n")
	f(layout{width: 30}, "    ppscript trace -e 'a b' -N 10\n",
		"    ppscript trace -e 'a b' \\\n        -N 10\n")
	f(layout{width: 24}, "    ppscript x [--than .] [-g]\n",
		"    ppscript x \\\n        [--than .] \\\n        [-g]\n")
	// Columns hang.
	f(layout{width: 28, hang: true}, "  by  keys that tell them apart\n",
		"  by  keys that tell them\n      apart\n")
}
