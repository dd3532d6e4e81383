package tty

import (
	"errors"
	"io"
	"os"
	"strings"
)

// ErrInterrupt is the error of Read after Ctrl-C.
var ErrInterrupt = errors.New("interrupted")

// An Editor reads statements, which may have several lines. Only one goroutine may use it,
// except for End.
type Editor struct {
	Prompt, More string // prompt of the first line of a statement, and of the others
	// Whole reports that a statement is complete and can run. Nil: every
	// statement is.
	Whole func(text string) bool
	// Indent returns the blanks at the beginning of the next line. Nil: none.
	Indent func(before string) string
	// Complete returns the words that may stand at the end of a text, and the part of them
	// that is typed already. Nil: no completion.
	Complete func(before string) (words []string, have string)
	History  *History // nil: no history

	term   *terminal
	text   text
	drawn  drawing
	recall recall
	// indented is the number of blanks in the line that Indent added. gotInput says that the
	// text was inserted as a whole, from the history or by a paste.
	indented int
	gotInput bool
}

// Open makes an editor for the terminal with the files in and out. The caller
// closes it.
func Open(in, out *os.File) (*Editor, error) {
	t, err := openTerminal(in, out)
	if err != nil {
		return nil, err
	}
	return &Editor{term: t}, nil
}

// Close restores the terminal.
func (e *Editor) Close() error {
	err := e.term.leave()
	e.term.close()
	return err
}

// End makes Read return io.EOF. Any goroutine may call it.
func (e *Editor) End() { e.term.poke(wokenToEnd) }

// Sequences that make the terminal mark the beginning and the end of pasted
// text, or stop doing so.
const (
	marksPastes   = "\x1b[?2004h"
	noMarksPastes = "\x1b[?2004l"
)

// Read reads a statement, without the newline at its end. The error is ErrInterrupt, io.EOF, or
// an error of the terminal.
func (e *Editor) Read() (statement string, err error) {
	if err := e.term.enter(); err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, e.term.write([]byte(noMarksPastes)), e.term.leave())
	}()
	if err := e.term.write([]byte(marksPastes)); err != nil {
		return "", err
	}
	e.text.set("")
	e.recall = recall{at: -1}
	e.drawn = drawing{stale: true}
	e.indented, e.gotInput = 0, false
	for {
		k, err := e.term.key(e.draw)
		if err != nil {
			return "", err
		}
		done, err := e.press(k)
		if err != nil {
			return "", errors.Join(err, e.below())
		}
		if done {
			return e.text.String(), e.below()
		}
	}
}

// press executes a key. done says that the statement is complete and should
// run.
func (e *Editor) press(k key) (done bool, err error) {
	t := &e.text
	column := t.column
	t.column = -1
	switch k.kind {
	case keyRune:
		t.insert([]rune{k.r}, true)
		return false, e.typed(k.r)
	case keyUp, keyDown:
		t.column = column
		e.vertical(k.kind == keyDown)
	case keyControl:
		return e.control(k.r, column)
	case keyAlt:
		return e.alt(k.r), nil
	case keyPaste:
		e.paste(k.text)
	case keyLeft:
		t.pos = max(t.pos-1, 0)
	case keyRight:
		t.pos = min(t.pos+1, len(t.runes))
	case keyWordLeft:
		t.pos = t.wordLeft()
	case keyWordRight:
		t.pos = t.wordRight()
	case keyHome:
		t.pos = t.lineBegin(t.pos)
	case keyEndOfLine:
		t.pos = t.lineEnd(t.pos)
	case keyPageUp:
		e.recalled(-1)
	case keyPageDown:
		e.recalled(1)
	case keyDelete:
		t.remove(t.pos, min(t.pos+1, len(t.runes)), false)
	case keyBackspace:
		t.backspace()
	case keyEnd:
		return false, io.EOF
	}
	e.drawn.stale = true
	return false, nil
}

// control executes a key that is pressed with Ctrl.
func (e *Editor) control(r rune, column int) (done bool, err error) {
	t := &e.text
	switch r {
	case 'm', 'j':
		n := len(t.runes)
		done = e.enter()
		// A statement that ends unchanged is not drawn again.
		e.drawn.stale = e.drawn.stale || !done || n != len(t.runes)
		return done, nil
	case 'c':
		return false, ErrInterrupt
	}
	e.drawn.stale = true
	switch r {
	case 'i':
		return false, e.tab()
	case 'd':
		if len(t.runes) == 0 {
			return false, io.EOF
		}
		t.remove(t.pos, min(t.pos+1, len(t.runes)), false)
	case 'r':
		return e.search()
	case 'a':
		t.pos = t.lineBegin(t.pos)
	case 'e':
		t.pos = t.lineEnd(t.pos)
	case 'b':
		t.pos = max(t.pos-1, 0)
	case 'f':
		t.pos = min(t.pos+1, len(t.runes))
	case 'p', 'n':
		t.column = column
		e.vertical(r == 'n')
	case 'k':
		end := t.lineEnd(t.pos)
		if end == t.pos && end < len(t.runes) {
			end++ // at the end of a line, join it with the next one
		}
		t.remove(t.pos, end, true)
	case 'u':
		t.remove(t.lineBegin(t.pos), t.pos, true)
	case 'w':
		t.remove(t.blankLeft(), t.pos, true)
	case 'y':
		t.insert(t.killed, false)
	case 't':
		t.transpose()
	case '_':
		t.undo()
	case 'l':
		e.drawn.row = 0
		return false, e.term.write([]byte("\x1b[H\x1b[2J"))
	}
	return false, nil
}

// alt executes a key that is pressed with Alt.
func (e *Editor) alt(r rune) (done bool) {
	t := &e.text
	e.drawn.stale = true
	switch r {
	case '\r', '\n':
		return e.whole()
	case 'b':
		t.pos = t.wordLeft()
	case 'f':
		t.pos = t.wordRight()
	case 'd':
		t.remove(t.pos, t.wordRight(), true)
	case 0x7f:
		t.remove(t.wordLeft(), t.pos, true)
	case '<':
		t.pos = 0
	case '>':
		t.pos = len(t.runes)
	}
	return false
}

// vertical moves the cursor a line up or down. From the first line up and from the last
// line down, it moves in the history.
func (e *Editor) vertical(down bool) {
	switch {
	case e.text.vertical(down):
	case down:
		e.recalled(1)
	default:
		e.recalled(-1)
	}
}

// paste inserts pasted text unchanged.
func (e *Editor) paste(s string) {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	t := &e.text
	if len(trimBlanks(t.runes)) == 0 {
		t.runes, t.pos = nil, 0
	} else if t.indentationAlone() && strings.HasPrefix(s, " ") {
		t.remove(t.lineBegin(t.pos), t.pos, false) // the pasted text has its own indentation
	}
	t.insert([]rune(s), false)
	e.gotInput = true
}

func (t *text) indentationAlone() bool {
	return len(trimBlanks(t.runes[t.lineBegin(t.pos):t.pos])) == 0
}

// whole reports that the text can run, if necessary with an empty line that
// ends a block.
func (e *Editor) whole() bool {
	return e.Whole == nil || e.Whole(e.text.String()+"\n") || e.Whole(e.text.String()+"\n\n")
}

// enter executes the Enter key: it ends the statement if that is complete, else
// the line.
//
// Above the last line it inserts a new line; there, Alt-Enter runs the statement. A text from a
// paste or the history needs no empty line at its end.
func (e *Editor) enter() (done bool) {
	t := &e.text
	if !t.onLastLine() {
		e.newLine()
		return false
	}
	e.ownIndentation()
	if begin := t.lineBegin(t.pos); begin > 0 && len(trimBlanks(t.runes[begin:])) == 0 {
		// A line of blanks ends a block like an empty line.
		t.runes, t.pos = t.runes[:begin], begin
		if e.Whole == nil || e.Whole(t.String()+"\n") {
			t.runes = t.runes[:begin-1]
			t.pos = len(t.runes)
			return true
		}
	}
	if e.Whole == nil || e.Whole(t.String()+"\n") || e.gotInput && e.whole() {
		return true
	}
	e.newLine()
	return false
}

// newLine inserts a line end and an indentation at the cursor.
func (e *Editor) newLine() {
	t := &e.text
	e.gotInput = e.gotInput && !t.onLastLine()
	indent := ""
	if e.Indent != nil {
		indent = e.Indent(t.before() + "\n")
	}
	t.insert([]rune("\n"+indent), false)
	e.indented = len(indent)
}

// ownIndentation removes the indentation that newLine added, if the typed text has its
// own. This happens with terminals that do not mark a paste but send it as typed text.
func (e *Editor) ownIndentation() {
	t := &e.text
	begin := t.lineBegin(t.pos)
	if n := e.indented; n > 0 && begin > 0 && begin+n < len(t.runes) && t.runes[begin+n] == ' ' &&
		len(trimBlanks(t.runes[begin:begin+n])) == 0 {
		t.runes = append(t.runes[:begin], t.runes[begin+n:]...)
		t.pos = max(t.pos-n, begin)
	}
	e.indented = 0
}

// tab completes the word before the cursor, or indents the line.
func (e *Editor) tab() error {
	t := &e.text
	if t.indentationAlone() && (t.lineBegin(t.pos) > 0 || t.pos > 0) || e.Complete == nil {
		n := indentStep - (t.pos-t.lineBegin(t.pos))%indentStep
		t.insert([]rune(strings.Repeat(" ", n)), false)
		return nil
	}
	words, have := e.Complete(t.before())
	if len(words) == 0 {
		return nil
	}
	common := []rune(words[0])
	for _, w := range words {
		for !strings.HasPrefix(w, string(common)) {
			common = common[:len(common)-1]
		}
	}
	if n := len([]rune(have)); len(common) > n {
		t.insert(common[n:], false)
		return nil
	}
	if len(words) > 1 {
		return e.list(words)
	}
	return nil
}
