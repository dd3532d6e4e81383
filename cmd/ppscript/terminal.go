package main

import (
	"os"

	"golang.org/x/term"
)

// colorModes are the values of --color.
var colorModes = []string{"auto", "always", "never"}

// colorful decides about colour on f: as told, else only on a terminal whose
// user has not set NO_COLOR.
func colorful(f *os.File, mode string) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return isTerminal(f)
}

// terminalWidth is the width of the terminal that f is, 0 if it is none.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// isTerminal reports that f is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
