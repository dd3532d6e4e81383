package help

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	f := func(doc, head, rest string) {
		t.Helper()
		if h, r := Split(doc); h != head || r != rest {
			t.Errorf("%q: got %q and %q", doc, h, r)
		}
	}
	f("", "", "")
	f("What?\n", "What?\n", "")
	f("What?\n\n    ppscript x\n\n    1 2\n\nNotes.\n\n    more\n",
		"What?\n\n    ppscript x\n\n    1 2\n\n", "Notes.\n\n    more\n")
	f("What?\n\nNotes.\n", "What?\n\n", "Notes.\n")
}

func TestCrop(t *testing.T) {
	const head = "What is longer than the page?\n\n    ppscript trace -e sched:sched_switch\n\n    1234567890123456\n    é\n"
	const want = "What is longer than the page?\n\n    ppscript trace -e sched:sched_switch\n\n    12345678 ...\n    é\n"
	if got := Crop(head, 16); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChoose(t *testing.T) {
	list := []Option{
		{Name: "user-callchain"}, {Name: "g", Short: "g"}, {Name: "events", Short: "e", Own: true},
		{Name: "filter", Own: true}, {Name: "key", Own: true}, {Name: "than", Own: true},
		{Name: "pids", Short: "p"}, {Name: "interval", Short: "i"}, {Name: "duration"}, {Name: "order"},
	}
	f := func(head string, want ...string) {
		t.Helper()
		if got := Choose(list, head); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", head, got, want)
		}
	}
	// The example's, what most want, the script's own; in the order of the list.
	f("What?\n\n    ppscript x --than=1ms -g -- sh --order -i\n", "g", "filter", "than", "pids", "interval")
	f("What?", "filter", "than", "pids", "interval", "duration")
	// Words that are not a command's do not count.
	f("use --order\n", "filter", "than", "pids", "interval", "duration")
	f("    ppscript x --order --duration 1s -g -i 1 --user-callchain -e x -p 1\n",
		"user-callchain", "g", "events", "pids", "interval")
}
