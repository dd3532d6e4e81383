package layout

import (
	"strings"

	"go.starlark.net/syntax"
)

// This file checks the columns of scripts, as columns.go does for Go. Longer lines
// are fine inside texts of several lines (tables of help, events given as text),
// if most of the line is text, and in the cases of language tests, which are one
// line each.

// starTests are the tests of the language.
const starTests = "tests/lang/"

// starColumns finds lines of a script that are too long.
func (c *checker) starColumns(name string, src []byte) {
	lines := strings.Split(string(src), "\n")
	long := false
	for _, line := range lines {
		long = long || columnsOf(line) > maxColumns
	}
	if !long {
		return
	}
	inside := textLines(name, src)
	for i, line := range lines {
		text := strings.TrimSpace(line)
		isCase := strings.HasPrefix(name, starTests)
		if n := columnsOf(line); n > maxColumns && !inside[i+1] && !isCase && !mostlyText(text) {
			c.fault("%s:%d: got %d columns, want at most %d", name, i+1, n, maxColumns)
		}
	}
}

// textLines are the lines of texts of several lines, by number from 1.
func textLines(name string, src []byte) map[int]bool {
	inside := map[int]bool{}
	file, err := (&syntax.FileOptions{
		Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true,
	}).Parse(name, src, 0)
	if err != nil {
		return inside // the tests of scripts report its errors
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if text, ok := n.(*syntax.Literal); ok && text.Token == syntax.STRING {
			first := int(text.TokenPos.Line)
			for i := range strings.Count(text.Raw, "\n") {
				inside[first+i] = true
				inside[first+i+1] = true
			}
		}
		return true
	})
	return inside
}

// mostlyText reports that at least a third of a line is texts in quotes: a message,
// or a row of a table of names. A break would make them harder to find and to read.
func mostlyText(line string) bool {
	n := 0
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			n += len(part)
		}
	}
	return 3*n >= len(line)
}
