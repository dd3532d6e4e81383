package tty

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// A pager shows a text page by page, on machines where less is not installed.
type pager struct {
	term        *terminal
	lines       []string
	top, left   int
	find        string
	message     string
	wide, shown int // width of a line in cells, and lines of a page
}

// Page shows a text on the terminal until the user presses q. The text must not contain control
// sequences other than colors.
func Page(in, out *os.File, text string) (err error) {
	t, err := openTerminal(in, out)
	if err != nil {
		return err
	}
	defer t.close()
	t.single = true // keys after the last one are for the prompt
	if err := t.enter(); err != nil {
		return err
	}
	defer func() {
		// Only the status line is erased; the last page stays visible.
		err = errors.Join(err, t.write([]byte("\r\x1b[K")), t.leave())
	}()
	p := &pager{term: t, lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	for {
		k, err := t.key(p.draw)
		if err != nil {
			return err
		}
		p.message = ""
		if done := p.press(k); done {
			return nil
		}
	}
}

// draw shows the page that begins with line top, and the status line.
func (p *pager) draw() error {
	width, height := p.term.size()
	p.wide, p.shown = width, max(height-1, 1)
	p.top = max(min(p.top, len(p.lines)-p.shown), 0)
	b := []byte("\x1b[H\x1b[J")
	for _, line := range p.lines[p.top:min(p.top+p.shown, len(p.lines))] {
		b = append(b, cut(line, p.left, width)...)
		b = append(b, "\r\n"...)
	}
	last := min(p.top+p.shown, len(p.lines))
	status := fmt.Sprintf(" %d-%d of %d lines: space, b, arrows, /TEXT, n, q ", p.top+1, last, len(p.lines))
	if p.message != "" {
		status = " " + p.message + " "
	}
	b = append(b, "\x1b[7m"+cut(status, 0, width-1)+"\x1b[0m"...)
	return p.term.write(b)
}

func (p *pager) press(k key) (done bool) {
	switch {
	case k.kind == keyEnd, k.kind == keyRune && (k.r == 'q' || k.r == 'Q'),
		k.kind == keyControl && (k.r == 'c' || k.r == 'd'):
		return true
	case k.kind == keyPageDown, k.kind == keyRune && k.r == ' ':
		if p.top+p.shown >= len(p.lines) {
			return true // after the last page, the pager ends
		}
		p.top += p.shown
	case k.kind == keyPageUp, k.kind == keyRune && k.r == 'b':
		p.top -= p.shown
	case k.kind == keyDown, k.kind == keyControl && k.r == 'm', k.kind == keyRune && k.r == 'j':
		p.top++
	case k.kind == keyUp, k.kind == keyRune && k.r == 'k':
		p.top--
	case k.kind == keyRight:
		p.left += p.wide / 2
	case k.kind == keyLeft:
		p.left = max(p.left-p.wide/2, 0)
	case k.kind == keyHome, k.kind == keyRune && k.r == 'g':
		p.top = 0
	case k.kind == keyEndOfLine, k.kind == keyRune && k.r == 'G':
		p.top = len(p.lines)
	case k.kind == keyRune && k.r == '/':
		return p.ask()
	case k.kind == keyRune && k.r == 'n':
		p.next()
	}
	return false
}

// ask reads the text to search for.
func (p *pager) ask() (done bool) {
	p.find = ""
	for {
		p.message = "/" + p.find
		k, err := p.term.key(p.draw)
		switch {
		case err != nil, k.kind == keyEnd:
			return true
		case k.kind == keyRune:
			p.find += string(k.r)
		case k.kind == keyBackspace && p.find != "":
			r := []rune(p.find)
			p.find = string(r[:len(r)-1])
		case k.kind == keyControl && (k.r == 'm' || k.r == 'j'):
			p.message = ""
			p.next()
			return false
		case k.kind != keyResize:
			p.message, p.find = "", ""
			return false
		}
	}
}

// next moves to the next line that contains the searched text.
func (p *pager) next() {
	if p.find == "" {
		return
	}
	for i := p.top + 1; i < len(p.lines); i++ {
		if strings.Contains(p.lines[i], p.find) {
			p.top = i
			return
		}
	}
	p.message = fmt.Sprintf("no further line has %q", p.find)
}

// cut returns the part of a line that begins at cell from and has at most width cells. All color
// sequences are kept.
func cut(line string, from, width int) string {
	var b strings.Builder
	cell := 0
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if r == 0x1b {
			end := i + 1
			for end < len(runes) && (runes[end] < '@' || runes[end] > '~' || runes[end] == '[') {
				end++
			}
			b.WriteString(string(runes[i:min(end+1, len(runes))]))
			i = end
			continue
		}
		text := shownAs(r, cell)
		n := cellsOf(text)
		if cell >= from && cell+n <= from+width {
			b.WriteString(text)
		}
		cell += n
	}
	return b.String()
}
