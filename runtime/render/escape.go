package render

import (
	"unicode"
	"unicode/utf8"
)

// This file makes text from elsewhere harmless: a comm can hold terminal
// escape sequences, line ends that fake further lines, or characters that
// reverse the direction of the line. Whatever is not a graphic character is
// shown as \n, \x1b or \u202e. Backslashes themselves stay: text output is
// for reading, JSON is the exact form.

const hexDigits = "0123456789abcdef"

// appendClean appends s with everything but graphic characters escaped.
func appendClean(dst []byte, s string) []byte {
	return cleanTail(append(dst, s...), len(dst))
}

// cleanTail escapes what stands behind dst[:from] in place.
//
// Fast path: text that is all printable ASCII costs one pass and no copy.
func cleanTail(dst []byte, from int) []byte {
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
			dst = append(dst, '\\', 'x', hexDigits[tail[j]>>4], hexDigits[tail[j]&15])
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
		return append(dst, '\\', 'x', hexDigits[r>>4], hexDigits[r&15])
	case r < 0x10000:
		return append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
	}
	dst = append(dst, '\\', 'U')
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[r>>shift&15])
	}
	return dst
}

// appendCleanLines is appendClean for text of several lines: line ends stay.
func appendCleanLines(dst []byte, s string) []byte {
	for {
		i := 0
		for i < len(s) && s[i] != '\n' {
			i++
		}
		dst = appendClean(dst, s[:i])
		if i == len(s) {
			return dst
		}
		dst = append(dst, '\n')
		s = s[i+1:]
	}
}
