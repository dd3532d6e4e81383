// Package console writes the command line's texts for a person: messages and
// errors on stderr, and help that is laid out for the terminal, in a pager if
// it is long. It also writes errors as JSON records for programs.
//
// It does not depend on scripts or sessions, and does not decide the exit code.
package console

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"ppscript/cmd/ppscript/terminal/tty"
	"ppscript/runtime/text/plain"

	"golang.org/x/term"
)

// A Console has the output and the messages of one invocation of the program.
type Console struct {
	Stdout *os.File
	Stderr io.Writer
	Color  bool   // messages are colored
	Mode   string // value of --color, read before all other options
	Quiet  int    // number of -q options; with one or more, no messages are printed
}

// further is the prefix of all lines of a message but the first. With it,
// quoted text from elsewhere, such as a process name, cannot look like a
// message of its own.
const further = "    "

// Text returns standard output for text from elsewhere; control characters are
// made harmless.
func (c *Console) Text() io.Writer { return plain.NewWriter(c.Stdout) }

// Report prints an error: message, source line, hint.
func (c *Console) Report(err error) {
	var b strings.Builder
	b.WriteString(c.paint("1;31", "ppscript:") + " " + plain.Text(err.Error(), further) + "\n")
	if x := ExcerptOf(err); x != "" {
		b.WriteString(plain.Text(x, "") + "\n")
	}
	if hint := hintOf(err); hint != "" {
		b.WriteString(c.paint("1", "hint:") + " " + plain.Text(hint, further) + "\n")
	}
	io.WriteString(c.Stderr, b.String())
}

// Say prints a message that is not an error.
func (c *Console) Say(line string) {
	if c.Quiet == 0 {
		fmt.Fprintln(c.Stderr, "ppscript: "+plain.Text(line, further))
	}
}

func (c *Console) paint(sgr, text string) string {
	if !c.Color {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// Title formats a heading of help, bold on a color terminal.
func (c *Console) Title(text string) string {
	if Colorful(c.Stdout, c.Mode) {
		return "\x1b[1m" + text + "\x1b[0m"
	}
	return text
}

// Layout returns the layout of help for the output; hang becomes Layout.Hang.
func (c *Console) Layout(hang bool) Layout { return Layout{Width: pageWidth(c.Stdout), Hang: hang} }

// Page shows a text. If it does not fit on the terminal's screen, it is shown in the user's pager,
// else in less, else in the built-in pager of package tty.
func (c *Console) Page(text string) error {
	command, own := c.pager(text)
	if own {
		return tty.Page(os.Stdin, c.Stdout, text)
	}
	if command != nil {
		// Ctrl-C is handled by the pager, where it ends a search. It must not
		// end this process.
		ignored := make(chan os.Signal, 1)
		signal.Notify(ignored, os.Interrupt)
		defer signal.Stop(ignored)
		command.Stdin, command.Stdout, command.Stderr = strings.NewReader(text), c.Stdout, os.Stderr
		if command.Run() == nil {
			return nil
		}
	}
	_, err := c.Stdout.WriteString(text)
	return err
}

// pager returns the command of the pager for a text; nil if none is needed or wanted. own says that
// the built-in pager must be used. The default, less, is started so that it cannot start other
// programs.
func (c *Console) pager(text string) (command *exec.Cmd, own bool) {
	_, height, err := term.GetSize(int(c.Stdout.Fd()))
	if err != nil || strings.Count(text, "\n") < height || !IsTerminal(os.Stdin) ||
		os.Getenv("TERM") == "dumb" {
		return nil, false
	}
	words, chosen := []string{"less", "-FRX"}, false
	for _, name := range []string{"PPSCRIPT_PAGER", "PAGER"} {
		if value, given := os.LookupEnv(name); given {
			words, chosen = strings.Fields(value), true
			break
		}
	}
	if len(words) == 0 || words[0] == "cat" {
		return nil, false
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, !chosen
	}
	less := exec.Command(path, words[1:]...)
	less.Env = append(os.Environ(), "LESSSECURE=1")
	less.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return less, false
}
