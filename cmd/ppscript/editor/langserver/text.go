package langserver

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A text is the content of a document, with the offset at which each line
// begins.
type text struct {
	content string
	lines   []int // offsets
}

func newText(content string) *text {
	t := &text{content: content, lines: []int{0}}
	for i := range len(content) {
		if content[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns line n (from 0) without its line end; "" if there is no such
// line.
func (t *text) line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	end := len(t.content)
	if n+1 < len(t.lines) {
		end = t.lines[n+1] - 1
	}
	return strings.TrimSuffix(t.content[t.lines[n]:end], "\r")
}

// offset converts a position to an offset in bytes. A position past the end of
// a line becomes the end of the line.
func (t *text) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.content)
	}
	line := t.line(p.Line)
	units := 0
	for i, r := range line {
		if units >= p.Character {
			return t.lines[p.Line] + i
		}
		units += max(utf16.RuneLen(r), 1)
	}
	return t.lines[p.Line] + len(line)
}

// position converts an offset in bytes to a position.
func (t *text) position(offset int) position {
	n := 0
	for n+1 < len(t.lines) && t.lines[n+1] <= offset {
		n++
	}
	return position{Line: n, Character: units(t.content[t.lines[n]:min(offset, len(t.content))])}
}

// at converts a line and a column of a message to a position. Both count from
// 1; columns count characters.
func (t *text) at(line, column int) position {
	text := t.line(line - 1)
	i := 0
	for range max(column-1, 0) {
		if i >= len(text) {
			break
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return position{Line: max(line-1, 0), Character: units(text[:i])}
}

// units returns the number of UTF-16 code units of a text.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// word returns the dotted name around an offset, such as "agg.count". begin and
// end are the bounds of its last part.
func (t *text) word(offset int) (path string, begin, end int) {
	end = offset
	for end < len(t.content) && isWord(t.content[end]) {
		end++
	}
	begin = offset
	for begin > 0 && isWord(t.content[begin-1]) {
		begin--
	}
	start := begin
	for start > 0 && (t.content[start-1] == '.' || isWord(t.content[start-1])) {
		start--
	}
	return t.content[start:end], begin, end
}

// statement returns the offset at which the top-level statement around an
// offset begins.
func (t *text) statement(offset int) int {
	for n := t.position(offset).Line; n > 0; n-- {
		line := t.line(n)
		if line != "" && !strings.ContainsRune(" \t)]}#", rune(line[0])) {
			return t.lines[n]
		}
	}
	return 0
}

func isWord(ch byte) bool {
	return ch == '_' || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9'
}
