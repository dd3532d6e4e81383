package prompt

import (
	"regexp"
	"slices"
	"strings"
)

// Indentation returns the blanks for the next line of a statement: as many as in
// the last line, more after a colon or an open bracket, fewer after the end of a
// block.
func Indentation(before string) string {
	lines := strings.Split(strings.TrimRight(before, "\n"), "\n")
	last := lines[len(lines)-1]
	depth := len(last) - len(strings.TrimLeft(last, " "))
	word, _, _ := strings.Cut(strings.TrimSpace(last), " ")
	switch at := scan(before); {
	case at.quote >= 0:
		return ""
	case len(at.open) > 0:
		line := before[strings.LastIndexByte(before[:at.open[len(at.open)-1]], '\n')+1:]
		depth = len(line) - len(strings.TrimLeft(line, " ")) + 4
	case strings.HasSuffix(strings.TrimSpace(last), ":"):
		depth += 4
	case slices.Contains([]string{"return", "pass", "break", "continue"}, word):
		depth = max(depth-4, 0)
	}
	return strings.Repeat(" ", depth)
}

// asksHelp matches the requests for help that other interactive prompts have.
var asksHelp = regexp.MustCompile(`^(?:\?\s*([\w.:*-]*)|help(?:\s+([\w.:*-]+))?|([\w.:*-]+)\?)$`)

// Asks reports that a statement asks for help, and on which name: ?, help, help join, ?join, join?.
func Asks(statement string) (name string, ok bool) {
	m := asksHelp.FindStringSubmatch(strings.TrimSpace(statement))
	if m == nil {
		return "", false
	}
	return m[1] + m[2] + m[3], true
}

// Continues reports that a line belongs to the block before it.
func Continues(line string) bool {
	word, _, _ := strings.Cut(strings.TrimRight(line, ":\n "), " ")
	return strings.TrimSpace(line) == "" || line[0] == ' ' || line[0] == '\t' || line[0] == '#' ||
		word == "else" || word == "elif" ||
		line[0] == ')' || line[0] == ']' || line[0] == '}'
}
