package main

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"
)

// This file lays help out for the terminal that it is read on, and shows longer
// help in a pager.

// Widths of help. Longer lines than maxPage are hard to read.
const (
	plainPage = 80 // where nobody knows
	minPage   = 40
	maxPage   = 100
)

// pageWidth is how wide help on f is.
func pageWidth(f *os.File) int {
	width := terminalWidth(f)
	if width == 0 {
		return plainPage
	}
	return max(minPage, min(width, maxPage))
}

// page shows a text: on a terminal that is too low for it, in a pager.
func (a *app) page(text string) error {
	if command := a.pager(text); command != nil {
		// Ctrl-C is the pager's: it ends a search, not the reading.
		ignored := make(chan os.Signal, 1)
		signal.Notify(ignored, os.Interrupt)
		defer signal.Stop(ignored)
		command.Stdin, command.Stdout, command.Stderr = strings.NewReader(text), a.stdout, os.Stderr
		if command.Run() == nil {
			return nil
		}
	}
	_, err := a.stdout.WriteString(text)
	return err
}

// pager is the program that shows a text; nil if none is needed or wanted. The
// one that is the default cannot start other programs.
func (a *app) pager(text string) *exec.Cmd {
	_, height, err := term.GetSize(int(a.stdout.Fd()))
	if err != nil || strings.Count(text, "\n") < height || !isTerminal(os.Stdin) ||
		os.Getenv("TERM") == "dumb" {
		return nil
	}
	words := []string{"less", "-FRX"}
	for _, name := range []string{"PPSCRIPT_PAGER", "PAGER"} {
		if value, given := os.LookupEnv(name); given {
			words = strings.Fields(value)
			break
		}
	}
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil
	}
	c := exec.Command(path, words[1:]...)
	c.Env = append(os.Environ(), "LESSSECURE=1")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return c
}

// A layout says whether lines that are too long are wrapped or cut.
type layout struct {
	width int
	// hang breaks indented lines too, below their last column; else these are
	// output, which stays as it is, and only commands are broken.
	hang bool
}

// text lays a text out: paragraphs are filled anew, commands go on behind a
// backslash.
func (l layout) text(text string) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, wrap(strings.Join(paragraph, " "), l.width)...)
			paragraph = nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch trimmed := strings.TrimLeft(line, " "); {
		case trimmed == "":
			end()
			out = append(out, "")
		case trimmed == line && !strings.Contains(line, "   "):
			paragraph = append(paragraph, line)
		default:
			end()
			out = append(out, l.line(line)...)
		}
	}
	end()
	return strings.Join(out, "\n") + "\n"
}

// line breaks one line.
func (l layout) line(line string) []string {
	trimmed := strings.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	command := strings.HasPrefix(trimmed, "ppscript ")
	switch {
	case utf8.RuneCountInString(line) <= l.width:
		return []string{line}
	case command && !strings.Contains(trimmed, "   "):
		return l.command(trimmed, indent)
	case !l.hang:
		return []string{line}
	}
	column, head := indent+4, strings.Repeat(" ", indent)
	if i := strings.LastIndex(trimmed, "  "); i >= 0 && indent+i+2 <= l.width*2/3 {
		column = indent + i + 2
		head = line[:column]
	}
	var lines []string
	for i, part := range wrap(line[len(head):], max(l.width-column, minPage/2)) {
		if i > 0 {
			head = strings.Repeat(" ", column)
		}
		lines = append(lines, head+part)
	}
	return lines
}

// command breaks a command at blanks that are in no quotes.
func (l layout) command(text string, indent int) []string {
	var lines []string
	line, pad := "", strings.Repeat(" ", indent)
	for _, word := range shellWords(text) {
		if line != "" && len(pad)+len(line)+len(word)+3 > l.width {
			lines = append(lines, pad+line+" \\")
			line, pad = "", strings.Repeat(" ", indent+4)
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, pad+line)
}

// shellWords splits at blanks that are in no quotes or brackets; the quotes stay.
func shellWords(text string) []string {
	var words []string
	begin, quote, depth := 0, byte(0), 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ' ' && depth <= 0:
			if i > begin {
				words = append(words, text[begin:i])
			}
			begin = i + 1
		}
	}
	return append(words, text[begin:])
}
