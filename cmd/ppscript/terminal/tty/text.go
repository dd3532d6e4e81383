package tty

import (
	"slices"
	"unicode"
)

// A text is the edited text with its cursor and the changes that can be undone.
type text struct {
	runes  []rune
	pos    int // of the cursor: 0 to len(runes)
	column int // the column to which up and down return; -1: the cursor's column
	killed []rune
	undone []state // newest last
	typing bool    // the last change was a typed character
}

// A state is the text and the cursor before a change.
type state struct {
	runes []rune
	pos   int
}

// maxUndo bounds the changes that can be undone.
const maxUndo = 200

// set replaces the text by s, with the cursor at its end, and clears the undo
// list.
func (t *text) set(s string) {
	t.runes = []rune(s)
	t.pos, t.column, t.undone, t.typing = len(t.runes), -1, nil, false
}

func (t *text) String() string { return string(t.runes) }
func (t *text) before() string { return string(t.runes[:t.pos]) }

// changing saves the text for undo. Consecutive typed characters are one change.
func (t *text) changing(typing bool) {
	if !typing || !t.typing {
		if len(t.undone) >= maxUndo {
			t.undone = slices.Delete(t.undone, 0, 1)
		}
		t.undone = append(t.undone, state{slices.Clone(t.runes), t.pos})
	}
	t.typing = typing
}

func (t *text) undo() {
	if n := len(t.undone); n > 0 {
		t.runes, t.pos = t.undone[n-1].runes, t.undone[n-1].pos
		t.undone, t.typing = t.undone[:n-1], false
	}
}

// insert inserts s at the cursor. typed says that s is a character from the
// keyboard.
func (t *text) insert(s []rune, typed bool) {
	t.changing(typed && len(s) == 1 && s[0] != '\n')
	t.runes = slices.Insert(t.runes, t.pos, s...)
	t.pos += len(s)
}

// remove deletes the characters from..to; with kill, they are kept for Ctrl-Y.
func (t *text) remove(from, to int, kill bool) {
	if from >= to {
		return
	}
	t.changing(false)
	if kill {
		t.killed = slices.Clone(t.runes[from:to])
	}
	t.runes = slices.Delete(t.runes, from, to)
	t.pos = from
}

// lineBegin and lineEnd return the bounds of the line around a position.
func (t *text) lineBegin(pos int) int {
	for pos > 0 && t.runes[pos-1] != '\n' {
		pos--
	}
	return pos
}

func (t *text) lineEnd(pos int) int {
	for pos < len(t.runes) && t.runes[pos] != '\n' {
		pos++
	}
	return pos
}

func (t *text) onLastLine() bool { return t.lineEnd(t.pos) == len(t.runes) }

// vertical moves the cursor a line up or down; false if there is no such line.
func (t *text) vertical(down bool) bool {
	begin := t.lineBegin(t.pos)
	if t.column < 0 {
		t.column = t.pos - begin
	}
	to := 0
	if down {
		to = t.lineEnd(t.pos) + 1
		if to > len(t.runes) {
			return false
		}
	} else {
		if begin == 0 {
			return false
		}
		to = t.lineBegin(begin - 1)
	}
	t.pos = min(to+t.column, t.lineEnd(to))
	return true
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// wordLeft returns the beginning of the word before the cursor, wordRight the
// end of the word after it.
func (t *text) wordLeft() int {
	i := t.pos
	for i > 0 && !wordRune(t.runes[i-1]) {
		i--
	}
	for i > 0 && wordRune(t.runes[i-1]) {
		i--
	}
	return i
}

func (t *text) wordRight() int {
	i := t.pos
	for i < len(t.runes) && !wordRune(t.runes[i]) {
		i++
	}
	for i < len(t.runes) && wordRune(t.runes[i]) {
		i++
	}
	return i
}

// blankLeft returns the beginning of the text before the cursor that is
// delimited by blanks.
func (t *text) blankLeft() int {
	i := t.pos
	for i > 0 && unicode.IsSpace(t.runes[i-1]) {
		i--
	}
	for i > 0 && !unicode.IsSpace(t.runes[i-1]) {
		i--
	}
	return i
}

// backspace deletes the character before the cursor, or in an indentation, up
// to the step before.
func (t *text) backspace() {
	begin := t.lineBegin(t.pos)
	n := 1
	if t.pos > begin && len(trimBlanks(t.runes[begin:t.pos])) == 0 {
		n = (t.pos-begin-1)%indentStep + 1
	}
	t.remove(max(t.pos-n, 0), t.pos, false)
}

// indentStep is the number of blanks of one level of indentation.
const indentStep = 4

func trimBlanks(r []rune) []rune {
	for len(r) > 0 && r[0] == ' ' {
		r = r[1:]
	}
	return r
}

// transpose swaps the two characters around the cursor.
func (t *text) transpose() {
	i := t.pos
	if i == t.lineEnd(i) {
		i--
	}
	if i <= t.lineBegin(t.pos) {
		return
	}
	t.changing(false)
	t.runes[i-1], t.runes[i] = t.runes[i], t.runes[i-1]
	t.pos = i + 1
}
