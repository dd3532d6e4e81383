package text

import "ppscript/runtime/text/glob"

// This file makes globs, and texts to find, the characters that a program in the
// kernel moves through: which bytes each of them matches. bpf generates that program.

// MostStates bounds a pattern: its masks are constants of 32 bits with a sign.
const MostStates = 30

// A Pattern is a glob, character by character.
type Pattern struct {
	Chars []byteSet
	Stars int32 // bit i: any text may stand in front of character i
}

// A byteSet is the bytes that a character matches, never NUL.
type byteSet [256]bool

// Literal appends a text that matches itself.
func (p *Pattern) Literal(s string) {
	for i := range len(s) {
		var set byteSet
		set[s[i]] = true
		p.Chars = append(p.Chars, set)
	}
}

// Star lets any text stand in front of what is appended next.
func (p *Pattern) Star() {
	if len(p.Chars) <= MostStates {
		p.Stars |= 1 << len(p.Chars)
	}
}

// Glob parses a glob; see package glob.
func Glob(s string) *Pattern {
	p := &Pattern{}
	for len(s) > 0 {
		n := 1
		switch s[0] {
		case '*':
			p.Star()
			s = s[1:]
			continue
		case '[':
			if end := glob.SetEnd(s); end > 0 {
				n = end + 1
			}
		}
		var set byteSet
		for b := 1; b < 256; b++ {
			set[b] = glob.Match(s[:n], string([]byte{byte(b)}))
		}
		p.Chars = append(p.Chars, set)
		s = s[n:]
	}
	return p
}

// A Run is Count bytes from one on that the characters in Mask match.
type Run struct {
	From, Count int
	Mask        int32
}

// Runs are the bytes that characters of the pattern match.
func (p *Pattern) Runs() []Run {
	var masks [257]int32
	for i, set := range p.Chars {
		for b, in := range set {
			if in {
				masks[b] |= 1 << i
			}
		}
	}
	var runs []Run
	for from := 1; from < 256; {
		to := from
		for to < 256 && masks[to] == masks[from] {
			to++
		}
		if masks[from] != 0 {
			runs = append(runs, Run{from, to - from, masks[from]})
		}
		from = to
	}
	return runs
}
