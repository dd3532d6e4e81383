package layout

import (
	"go/parser"
	"go/token"
	"testing"
)

// TestWords finds question words and participles in the place of nouns, and nothing else.
func TestWords(t *testing.T) {
	f := func(comment string, want int) {
		t.Helper()
		c, fset := &checker{}, token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x\n\n"+comment+"\n", parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		c.words(fset, file)
		if len(c.faults) != want {
			t.Errorf("%q: got %q, want %d faults", comment, c.faults, want)
		}
	}
	f("// who has the CPU", 1)
	f("// cpu is the number of who begins it.", 1)
	f("// close tells the sender,\n// whoever it is.", 1)
	f("// size is that of what waits.", 1)
	f("// A made is a pair.", 1)
	f("/* An asked is a stream. */", 1)
	f("// A user who may read tracefs sees the events of whole cgroups.", 0)
	f("// The sent bytes are kept for a process that is known.", 0)
	f("// rows are of threads\n// who work at once.", 0)
	f("// whole reports that all of it came.", 0)
}
