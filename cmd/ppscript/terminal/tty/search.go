package tty

import (
	"fmt"
	"strings"
)

// A recall is where in the history the text is from.
type recall struct {
	at    int    // of the history's entries; -1: it is a new one
	fresh string // what was typed before the history was looked at
}

// recalled goes on by step in the history: older ones are before.
func (e *Editor) recalled(step int) {
	if e.History == nil {
		return
	}
	entries := e.History.Entries()
	at := e.recall.at
	if at < 0 {
		at = len(entries)
	}
	to := at + step
	if to < 0 || to > len(entries) {
		return
	}
	if at == len(entries) {
		e.recall.fresh = e.text.String()
	}
	if to == len(entries) {
		e.text.set(e.recall.fresh)
		e.recall.at, e.gotInput = -1, false
		return
	}
	e.text.set(entries[to])
	e.recall.at, e.gotInput = to, true
}

// search asks for a part of an earlier statement, the newest first. Enter runs it, Ctrl-R goes on
// to older ones, Ctrl-G gives up, other keys edit what was found.
func (e *Editor) search() (done bool, err error) {
	if e.History == nil {
		return false, nil
	}
	entries := e.History.Entries()
	old, pos := e.text.String(), e.text.pos
	part, at := "", len(entries)
	find := func(from int) bool {
		for i := from; i >= 0; i-- {
			if j := strings.Index(entries[i], part); j >= 0 && part != "" {
				at = i
				e.text.set(entries[i])
				e.text.pos = len([]rune(entries[i][:j]))
				return true
			}
		}
		return false
	}
	found := true
	for {
		e.drawn.aboveFirst = fmt.Sprintf("(search %q) ", part)
		if !found {
			e.drawn.aboveFirst = fmt.Sprintf("(none with %q) ", part)
		}
		e.drawn.stale = true
		k, err := e.term.key(e.draw)
		if err != nil {
			return false, err
		}
		switch {
		case k.kind == keyRune:
			part += string(k.r)
			found = find(min(at, len(entries)-1))
			continue
		case k.kind == keyBackspace:
			if r := []rune(part); len(r) > 0 {
				part = string(r[:len(r)-1])
			}
			at = len(entries)
			found = part == "" || find(at-1)
			continue
		case k.kind == keyControl && k.r == 'r':
			found = find(at - 1)
			continue
		case k.kind == keyResize:
			continue
		}
		e.drawn.aboveFirst, e.drawn.stale = "", true
		if at < len(entries) {
			e.recall.at, e.recall.fresh, e.gotInput = at, old, true
		}
		if k.kind == keyControl && k.r == 'g' || k.kind == keyEscape {
			e.text.set(old)
			e.text.pos, e.recall.at = pos, -1
			return false, nil
		}
		if k.kind == keyControl && (k.r == 'm' || k.r == 'j') {
			e.text.pos = len(e.text.runes)
			return e.enter(), nil
		}
		return e.press(k)
	}
}
