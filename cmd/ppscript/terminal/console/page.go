package console

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"ppscript/runtime/text/plain"
)

// This file breaks the lines of help to the width of the terminal.

// Widths of help, in columns. Lines longer than maxPage are hard to read.
const (
	plainPage = 80 // if the width is not known
	minPage   = 40
	maxPage   = 100
)

// pageWidth returns the width of help that is written to f.
func pageWidth(f *os.File) int {
	width := TerminalWidth(f)
	if width == 0 {
		return plainPage
	}
	return max(minPage, min(width, maxPage))
}

// A Layout says how lines that are too long are broken.
type Layout struct {
	Width int
	// Hang says that indented lines are broken too, and continued below the
	// beginning of their last column. Otherwise indented lines are example
	// output, which stays unchanged, except commands.
	Hang bool
}

// Text lays a text out: paragraphs are refilled, and long commands are
// continued after a backslash.
func (l Layout) Text(text string) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, wrap(strings.Join(paragraph, " "), l.Width)...)
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
func (l Layout) line(line string) []string {
	trimmed := strings.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	command := strings.HasPrefix(trimmed, "ppscript ")
	switch {
	case utf8.RuneCountInString(line) <= l.Width:
		return []string{line}
	case command:
		// A description may follow the command; it moves to a line of its own.
		text, does, _ := strings.Cut(trimmed, "   ")
		lines := l.command(text, indent)
		if does != "" {
			column := indent + 8
			for _, part := range wrap(does, max(l.Width-column, minPage/2)) {
				lines = append(lines, strings.Repeat(" ", column)+part)
			}
		}
		return lines
	case !l.Hang:
		return []string{line}
	}
	column, head := indent+4, strings.Repeat(" ", indent)
	if i := strings.LastIndex(trimmed, "  "); i >= 0 && indent+i+2 <= l.Width*2/3 {
		column = indent + i + 2
		head = line[:column]
	}
	var lines []string
	for i, part := range wrap(line[len(head):], max(l.Width-column, minPage/2)) {
		if i > 0 {
			head = strings.Repeat(" ", column)
		}
		lines = append(lines, head+part)
	}
	return lines
}

// command breaks a command at blanks outside quotes.
func (l Layout) command(text string, indent int) []string {
	var lines []string
	line, pad := "", strings.Repeat(" ", indent)
	for _, word := range shellWords(text) {
		if line != "" && len(pad)+len(line)+len(word)+3 > l.Width {
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

// shellWords splits a command at blanks outside quotes and brackets. The quotes
// are kept.
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

// TwoColumns writes a name, and beside it, or below if there is no room, its
// description, which begins at column.
func TwoColumns(w *strings.Builder, left, right string, column, width int) {
	if column > width/2+width/8 {
		column = 12
	}
	left = Cleaned(left)
	for i, line := range wrap(Cleaned(right), width-column) {
		switch {
		case i == 0 && len(left) < column-1:
			fmt.Fprintf(w, "%-*s%s\n", column, left, line)
		case i == 0:
			fmt.Fprintf(w, "%s\n%*s%s\n", left, column, "", line)
		default:
			fmt.Fprintf(w, "%*s%s\n", column, "", line)
		}
	}
}

// wrap breaks text into lines of at most width columns: between words, and inside a
// word that is too long after a comma.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for len(word) > width {
			comma := strings.LastIndex(word[:width], ",")
			if comma < 0 {
				break
			}
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, word[:comma+1]), word[comma+1:]
		}
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Cleaned removes terminal sequences from a text from elsewhere.
func Cleaned(text string) string { return string(plain.AppendLines(nil, text)) }
