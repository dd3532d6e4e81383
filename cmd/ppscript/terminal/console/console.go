// Package console is where the command line talks to a person: messages and
// errors on stderr, help that is laid out for the terminal it is read on, in a
// pager if it is long, and errors as records for programs.
//
// It knows no script and no session; it decides no exit code.
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

// A Console is the output of one invocation of the program, and its messages.
type Console struct {
	Stdout *os.File
	Stderr io.Writer
	Color  bool   // of messages
	Mode   string // --color, known before anything else is
	Quiet  int    // how many -q there are: one leaves messages out
}

// further stands in front of the further lines of a message, so that a quoted
// text, such as a name chosen by others, never begins a line.
const further = "    "

// Text is the output for texts from files and other people.
func (c *Console) Text() io.Writer { return plain.NewWriter(c.Stdout) }

// Report tells the user an error: message, place, hint.
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

// Title is a heading of help.
func (c *Console) Title(text string) string {
	if Colorful(c.Stdout, c.Mode) {
		return "\x1b[1m" + text + "\x1b[0m"
	}
	return text
}

// Layout is how help is laid out for the output; hang is that of the Layout.
func (c *Console) Layout(hang bool) Layout { return Layout{Width: pageWidth(c.Stdout), Hang: hang} }

// Page shows a text: on a terminal that is too low for it, in a pager, which is the user's, or less,
// or where that is not there, a small one of our own.
func (c *Console) Page(text string) error {
	command, own := c.pager(text)
	if own {
		return tty.Page(os.Stdin, c.Stdout, text)
	}
	if command != nil {
		// Ctrl-C is the pager's: it ends a search, not the reading.
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

// pager is the program that shows a text; nil if none is needed or wanted, or it has to be our own. The
// one that is the default cannot start other programs.
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
