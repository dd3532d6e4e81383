package console

import (
	"os"

	"golang.org/x/term"
)

// ColorModes are the values of --color.
var ColorModes = []string{"auto", "always", "never"}

// Colorful reports that text on f is colored: as mode says; with auto, only on
// a terminal, and not if NO_COLOR is set.
func Colorful(f *os.File, mode string) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return IsTerminal(f)
}

// TerminalWidth returns the columns of the terminal f, 0 if f is not a
// terminal.
func TerminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// IsTerminal reports that f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
