package console

import (
	"os"

	"golang.org/x/term"
)

// ColorModes are the values of --color.
var ColorModes = []string{"auto", "always", "never"}

// Colorful decides about colour on f: as told, else only on a terminal whose
// user has not set NO_COLOR.
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

// TerminalWidth is the width of the terminal that f is, 0 if it is none.
func TerminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// IsTerminal reports that f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
