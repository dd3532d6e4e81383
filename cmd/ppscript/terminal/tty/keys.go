package tty

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// This file decodes the bytes that terminals send for keys: the sequences of xterm, which
// all current terminals use, and of the Linux console.

type kind int

const (
	keyNone    kind = iota
	keyRune         // a character
	keyControl      // with Ctrl: r is the small letter
	keyAlt          // with Alt, or after Escape
	keyPaste        // pasted text
	keyUp
	keyDown
	keyLeft
	keyRight
	keyWordLeft
	keyWordRight
	keyHome
	keyEndOfLine
	keyPageUp
	keyPageDown
	keyDelete
	keyBackspace
	keyEscape
	keyResize // the terminal has another size
	keyEnd    // there are no more keys
)

type key struct {
	kind kind
	r    rune
	text string // of keyPaste
}

// Sequences before and after pasted text.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// maxPaste bounds the bytes of a paste.
const maxPaste = 1 << 20

// pasting reports that b begins with the start of a paste.
func pasting(b []byte) bool { return bytes.HasPrefix(b, []byte(pasteBegin)) }

// decode decodes the first key of b. n is the number of its bytes, or 0 if more bytes are
// needed. last says that no more will come. Keys without a meaning here are keyNone.
func decode(b []byte, last bool) (k key, n int) {
	switch {
	case len(b) == 0:
		return key{}, 0
	case b[0] == 0x1b:
		return decodeEscape(b, last)
	case b[0] == 0x7f || b[0] == 0x08:
		return key{kind: keyBackspace}, 1
	case b[0] < 0x20:
		return key{kind: keyControl, r: rune(b[0]|0x40) | lower(b[0])}, 1
	case !utf8.FullRune(b) && !last:
		return key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n <= 1 {
		return key{}, 1
	}
	return key{kind: keyRune, r: r}, n
}

// lower returns the bit that makes the letter of a control character lower case; 0 for
// control characters without a letter, such as Ctrl-_.
func lower(ch byte) rune {
	if ch >= 1 && ch <= 26 {
		return 0x20
	}
	return 0
}

func decodeEscape(b []byte, last bool) (key, int) {
	if len(b) == 1 {
		if last {
			return key{kind: keyEscape}, 1
		}
		return key{}, 0
	}
	switch {
	case b[1] == '[':
		return decodeSequence(b, last)
	case b[1] == 'O':
		if len(b) < 3 {
			if last {
				return key{}, len(b)
			}
			return key{}, 0
		}
		return key{kind: named("", b[2])}, 3
	case b[1] == 0x1b:
		return key{kind: keyEscape}, 1
	}
	k, n := decode(b[1:], last)
	switch {
	case n == 0:
		return key{}, 0
	case k.kind == keyBackspace:
		return key{kind: keyAlt, r: 0x7f}, n + 1
	case k.kind == keyControl:
		return key{kind: keyAlt, r: k.r &^ 0x60}, n + 1 // Alt-Enter is Alt with Ctrl-M
	case k.kind == keyRune:
		return key{kind: keyAlt, r: k.r}, n + 1
	}
	return key{}, n + 1
}

// decodeSequence decodes a sequence of the form ESC [ parameters final.
func decodeSequence(b []byte, last bool) (key, int) {
	if pasting(b) {
		text, _, whole := bytes.Cut(b[len(pasteBegin):], []byte(pasteEnd))
		if !whole && len(text) < maxPaste {
			return key{}, 0
		}
		n := len(pasteBegin) + len(text)
		if whole {
			n += len(pasteEnd)
		}
		return key{kind: keyPaste, text: string(text)}, n
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return key{kind: named(string(b[2:i]), b[i])}, i + 1
		}
	}
	if last {
		return key{}, len(b)
	}
	return key{}, 0
}

// named returns the key of a sequence.
func named(parameters string, final byte) kind {
	first, modifier, _ := strings.Cut(parameters, ";")
	word := modifier == "3" || modifier == "5"
	switch final {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'C':
		if word {
			return keyWordRight
		}
		return keyRight
	case 'D':
		if word {
			return keyWordLeft
		}
		return keyLeft
	case 'H':
		return keyHome
	case 'F':
		return keyEndOfLine
	case '~':
		switch first {
		case "1", "7":
			return keyHome
		case "4", "8":
			return keyEndOfLine
		case "3":
			return keyDelete
		case "5":
			return keyPageUp
		case "6":
			return keyPageDown
		}
	}
	return keyNone
}
