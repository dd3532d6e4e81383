package console

import "testing"

func TestLayout(t *testing.T) {
	f := func(l Layout, in, want string) {
		t.Helper()
		if got := l.Text(in); got != want {
			t.Errorf("width %d, hang %v:\n%s\ngot\n%s\nwant\n%s", l.Width, l.Hang, in, got, want)
		}
	}
	// Paragraphs are filled anew, in both directions; blank lines stay.
	f(Layout{Width: 20}, "one two three four five\nsix\n\nseven\n", "one two three four\nfive six\n\nseven\n")
	// Output stays as it is; commands go on behind a backslash, outside quotes.
	f(Layout{Width: 20}, "    PID      RUNTIME COMM\n", "    PID      RUNTIME COMM\n")
	f(Layout{Width: 30}, "    ppscript trace -e 'a b' -N 10\n",
		"    ppscript trace -e 'a b' \\\n        -N 10\n")
	f(Layout{Width: 24}, "    ppscript x [--than .] [-g]\n",
		"    ppscript x \\\n        [--than .] \\\n        [-g]\n")
	// What a command does goes below it.
	f(Layout{Width: 24}, "    ppscript x -e .   does this and that, and more\n",
		"    ppscript x -e .\n            does this and that,\n            and more\n")
	// Lists that are too long break behind commas.
	f(Layout{Width: 12}, "of sched_a,sched_b,c", "of\nsched_a,\nsched_b,c\n")
	// Columns hang.
	f(Layout{Width: 28, Hang: true}, "  by  keys that tell them apart\n",
		"  by  keys that tell them\n      apart\n")
}
