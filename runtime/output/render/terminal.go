package render

import (
	"os"

	"golang.org/x/term"
)

// isTerminal asks for the terminal attributes, which only a terminal has;
// being a character device is not enough, /dev/null is one.
func isTerminal(f *os.File) bool {
	// Fd would make reads and writes of f block.
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var is bool
	err = conn.Control(func(fd uintptr) { is = term.IsTerminal(int(fd)) })
	return err == nil && is
}
