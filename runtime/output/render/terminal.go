package render

import (
	"os"

	"golang.org/x/term"
)

// isTerminal reads the terminal attributes, which only a terminal has. It is
// not enough that f is a character device, since /dev/null is one.
func isTerminal(f *os.File) bool {
	// File.Fd would set f to blocking mode.
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var is bool
	err = conn.Control(func(fd uintptr) { is = term.IsTerminal(int(fd)) })
	return err == nil && is
}
