package tty

import (
	"fmt"
	"strings"
)

// A recall records which entry of the history the edited text comes from.
type recall struct {
	at    int    // index in the history's entries; -1: a new statement
	fresh string // the text that was typed before the move into the history
}

// recalled moves by step in the history: -1 is the next older statement, 1 the
// next newer one.
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

// search reads a part of a statement and shows the newest statement that contains it. Enter runs
// it, Ctrl-R continues with older ones, Ctrl-G cancels, other keys edit the found statement.
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
