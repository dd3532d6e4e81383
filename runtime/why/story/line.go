package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file makes the story of a span: a line for each part in time order. The activity of a thread
// that was waited for is below the line of the wait. Successive parts whose paths begin with the
// same links share a line. If a story has too many lines, parts shorter than a bound are summed up
// in lines of several short parts, and the bound grows until the story is short enough. Unknown
// parts are always named in these sums.

// A Line is a line of a story.
type Line struct {
	Depth int   // index of the link in its path; 0 is the span's own thread
	At    int64 // ns since the span's begin
	NS    int64
	Text  string
	// Link is the link of the line; nil for a sum of short parts.
	Link *result.WhyLink
}

// Lines returns the story of a span in about at most most lines; 0 has no
// bound.
func Lines(s *result.WhySpan, most int) []Line {
	least := int64(0)
	for {
		list := tell(nil, s, s.Parts, 0, least)
		if most <= 0 || len(list) <= most || least > s.NS() {
			return list
		}
		least = max(2*least, s.NS()/1000, 1)
	}
}

// tell appends the lines of parts whose paths all have the same links before
// depth.
func tell(dst []Line, s *result.WhySpan, parts []result.WhyPart, depth int, least int64) []Line {
	short := 0 // number of short parts before i without a line so far
	for i := 0; i < len(parts); {
		n := alike(parts[i:], depth)
		at := parts[i : i+n]
		if to := at[n-1].To; int64(to-at[0].From) < least {
			short += n
			i += n
			continue
		}
		dst = fold(dst, s, parts[i-short:i], depth)
		short = 0
		dst = append(dst, lineOf(s, at, depth))
		if len(at[0].Path) > depth+1 {
			dst = tell(dst, s, at, depth+1, least)
		}
		i += n
	}
	return fold(dst, s, parts[len(parts)-short:], depth)
}

// alike returns the number of first parts with the same link at depth, which must be the last
// link in all or in none of them.
func alike(parts []result.WhyPart, depth int) int {
	first := parts[0].Path
	for n, p := range parts {
		if p.Path[depth] != first[depth] || (len(p.Path) > depth+1) != (len(first) > depth+1) {
			return n
		}
	}
	return len(parts)
}

func lineOf(s *result.WhySpan, parts []result.WhyPart, depth int) Line {
	p := &parts[0]
	l := &p.Path[depth]
	text := Phrase(l)
	if depth > 0 {
		who := Thread(&l.Task)
		if before := &p.Path[depth-1]; before.Whom == l.Task && l.Task.Comm != "" {
			who = l.Task.Comm // the line above has its tid
		}
		text = who + ": " + text
	}
	return Line{Depth: depth, At: int64(p.From - s.From), NS: int64(parts[len(parts)-1].To - p.From),
		Text: text, Link: l}
}

// namedInSum bounds the causes that a line of short parts names, besides unknown ones.
const namedInSum = 3

// fold appends one line with the sum of short parts, of any threads.
func fold(dst []Line, s *result.WhySpan, parts []result.WhyPart, depth int) []Line {
	if len(parts) == 0 {
		return dst
	}
	line := Line{Depth: depth, At: int64(parts[0].From - s.From)}
	line.NS = int64(parts[len(parts)-1].To - parts[0].From)
	groups := 0
	type sum struct {
		text    string
		ns      int64
		unknown bool
	}
	var sums []sum
	for i := 0; i < len(parts); groups++ {
		n := alike(parts[i:], depth)
		l := &parts[i].Path[depth]
		one := sum{Phrase(l), int64(parts[i+n-1].To - parts[i].From), l.Kind == result.WhyUnknown}
		if at := slices.IndexFunc(sums, func(x sum) bool { return x.text == one.text }); at >= 0 {
			sums[at].ns += one.ns
		} else {
			sums = append(sums, one)
		}
		i += n
	}
	if groups == 1 && len(parts) == 1 {
		only := lineOf(s, parts, depth)
		only.Text = strings.TrimSuffix(only.Text, Phrase(only.Link)) + Path(parts[0].Path[depth:])
		return append(dst, only)
	}
	slices.SortStableFunc(sums, func(a, b sum) int {
		if a.unknown != b.unknown {
			return map[bool]int{true: 1, false: -1}[a.unknown]
		}
		return cmp.Compare(b.ns, a.ns)
	})
	var texts []string
	others, rest := 0, int64(0)
	known := len(sums)
	for known > 0 && sums[known-1].unknown {
		known--
	}
	for i, x := range sums {
		if i >= namedInSum && i < known && known > namedInSum+1 {
			others++
			rest += x.ns
			continue
		}
		texts = append(texts, unit.Duration(x.ns)+" "+x.text)
	}
	if others > 0 {
		texts = append(texts, fmt.Sprintf("%s of %d others", unit.Duration(rest), others))
	}
	line.Text = fmt.Sprintf("... %d short parts: %s", groups, strings.Join(texts, ", "))
	return append(dst, line)
}

// Title returns the name, thread and length of a span.
func Title(s *result.WhySpan) string {
	text := s.Label
	if text == "" {
		text = "span"
	}
	if who := Thread(&s.Task); who != "" {
		text += " of " + who
	}
	if s.Key != "" {
		text += ", key " + s.Key + ","
	}
	return text + " took " + unit.Duration(s.NS())
}
