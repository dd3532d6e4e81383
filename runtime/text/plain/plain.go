// Package plain makes text from elsewhere harmless: the name of a thread, a path
// or a message can hold terminal escape sequences, line ends that fake further
// lines, or characters that reverse the direction of the line. A character that
// is not graphic is shown as \n, \x1b or \u202e. Backslashes themselves stay:
// text output is for reading, JSON is the exact form.
//
// All code that writes text to a terminal calls it: renderers, messages, the
// functions that print.
package plain

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hex are the digits of escapes.
const Hex = "0123456789abcdef"

// Append appends s with everything but graphic characters escaped.
func Append(dst []byte, s string) []byte {
	return Tail(append(dst, s...), len(dst))
}

// Line returns s as one harmless line of valid UTF-8.
func Line(s string) string {
	if i := suspect(s); i < 0 {
		return s
	}
	return string(Append(nil, s))
}

// Text returns s with all but graphic characters, line ends and tabs escaped.
// more is put before each line but the first, so that foreign text never begins
// a line.
func Text(s, more string) string {
	if suspect(s) < 0 {
		return s
	}
	return strings.ReplaceAll(string(AppendLines(nil, s)), "\n", "\n"+more)
}

// Masked returns s as one harmless line, with a ? for each character that is not
// graphic. The columns do not move, so that marks below the line fit. Tabs stay.
func Masked(s string) string {
	if suspect(s) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r != '\t' && !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, s)
}

// Valid returns s as valid UTF-8: an invalid byte is written as its escape,
// such as \xff. All else stays.
func Valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string(appendValid(nil, s, false))
}

// Exact is Valid for texts of events in results, and keeps distinct texts distinct: a backslash
// that would look like the begin of an escape becomes \x5c. Call it once, when a text enters a
// result; a second call would escape the escapes.
func Exact(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, `\x`) {
		return s
	}
	return string(appendValid(nil, s, true))
}

// ExactBytes is Exact for bytes. It returns b itself if nothing has to be escaped.
//
// Fast path: text of ASCII without a backslash.
func ExactBytes(b []byte) []byte {
	for _, c := range b {
		if c == '\\' || c >= utf8.RuneSelf {
			return []byte(Exact(string(b)))
		}
	}
	return b
}

func appendValid(dst []byte, s string, exact bool) []byte {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1, exact && escapes(s[i:]):
			dst = append(dst, '\\', 'x', Hex[s[i]>>4], Hex[s[i]&15])
		default:
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst
}

// escapes reports that s begins like the escape of a byte.
func escapes(s string) bool {
	return len(s) >= 4 && s[0] == '\\' && s[1] == 'x' && strings.IndexByte(Hex, s[2]) >= 0 &&
		strings.IndexByte(Hex, s[3]) >= 0
}

// suspect is the index of the first byte that is not printable ASCII, -1 if
// there is none.
func suspect(s string) int {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// Tail escapes dst[from:] in place.
//
// Fast path: text that is all printable ASCII costs one pass and no copy.
func Tail(dst []byte, from int) []byte {
	for i := from; i < len(dst); i++ {
		if c := dst[i]; c < ' ' || c > '~' {
			return cleanSlow(dst, i)
		}
	}
	return dst
}

// Slow path: escapes from position i, where the first suspect byte stands.
func cleanSlow(dst []byte, i int) []byte {
	tail := string(dst[i:])
	dst = dst[:i]
	for j := 0; j < len(tail); {
		r, n := utf8.DecodeRuneInString(tail[j:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, '\\', 'x', Hex[tail[j]>>4], Hex[tail[j]&15])
		} else if unicode.IsGraphic(r) {
			dst = append(dst, tail[j:j+n]...)
		} else {
			dst = appendEscape(dst, r)
		}
		j += n
	}
	return dst
}

func appendEscape(dst []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(dst, '\\', 'n')
	case r == '\t':
		return append(dst, '\\', 't')
	case r == '\r':
		return append(dst, '\\', 'r')
	case r < 0x100:
		return append(dst, '\\', 'x', Hex[r>>4], Hex[r&15])
	case r < 0x10000:
		return append(dst, '\\', 'u', Hex[r>>12], Hex[r>>8&15], Hex[r>>4&15], Hex[r&15])
	}
	dst = append(dst, '\\', 'U')
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, Hex[r>>shift&15])
	}
	return dst
}

// AppendLines is Append for text with several lines: line ends and tabs stay.
func AppendLines(dst []byte, s string) []byte {
	for {
		i := strings.IndexAny(s, "\n\t")
		if i < 0 {
			return Append(dst, s)
		}
		dst = append(Append(dst, s[:i]), s[i])
		s = s[i+1:]
	}
}

// A Writer passes on graphic characters, line ends and tabs; all else is
// escaped.
type Writer struct {
	w    io.Writer
	rest []byte // the first bytes of a character that the next write completes
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
	}
	whole := len(text) - begun(text)
	w.rest = append([]byte(nil), text[whole:]...)
	if text = text[:whole]; suspect(string(text)) >= 0 {
		text = AppendLines(nil, string(text))
	}
	if _, err := w.w.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// begun is the number of bytes at the end of p that begin a character without
// completing it.
func begun(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
