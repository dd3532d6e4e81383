package story

import (
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// merged is the note for spans with too many parts.
const merged = "parts near each other are put together by cause, since there are so many"

// mostLines bounds the lines of a story in text.
const mostLines = 40

// A Form has options for text.
type Form struct {
	Width int // maximum cells of a line; 0 has no bound
	// Moment appends a time.
	Moment func(dst []byte, t event.Time) []byte
	// Frames appends the lines of a stack.
	Frames func(dst []byte, s result.CallStack) []byte
}

// AppendSlowest appends the stories of the slowest spans:
//
//	The slowest 2 of 12 slow spans:
//
//	1. openat of db/4711 took 23.1ms, from 2026-01-02 10:00:00.123456
//	    at(ms)     took   share
//	     0.000    0.120    0.5%  system call openat
//	     0.120   22.900   99.1%  futex 0x7f12, held by worker-3/4713
//	     0.120   22.900            worker-3: disk vdb read, device
func AppendSlowest(dst []byte, w *result.Why, f *Form) []byte {
	return append(dst, f.slowest(nil, w)...)
}

func (f *Form) slowest(dst []byte, w *result.Why) []byte {
	if len(w.Slowest) == 0 {
		return dst
	}
	if w.Slow.Spans > uint64(len(w.Slowest)) {
		dst = fmt.Appendf(dst, "The slowest %d of %d slow spans:\n", len(w.Slowest), w.Slow.Spans)
	}
	for i, s := range w.Slowest {
		if len(dst) > 0 {
			dst = append(dst, '\n')
		}
		dst = plain.Append(fmt.Appendf(dst, "%d. ", i+1), Title(s))
		dst = append(f.Moment(append(dst, ", from "...), s.From), '\n')
		dst = f.span(dst, w, s)
	}
	return dst
}

func (f *Form) span(dst []byte, w *result.Why, s *result.WhySpan) []byte {
	u := Unit(float64(s.NS()))
	dst = fmt.Appendf(dst, "%10s %10s %7s\n", "at("+u.Symbol+")", "took", "share")
	for _, l := range Lines(s, mostLines) {
		from := len(dst)
		dst = fmt.Appendf(dst, "%10s %10s ", u.Format(float64(l.At)), u.Format(float64(l.NS)))
		if l.Depth == 0 {
			dst = fmt.Appendf(dst, "%6.1f%%", share(float64(l.NS), float64(s.NS())))
		} else {
			dst = append(dst, "       "...)
		}
		dst = append(dst, "  "...)
		dst = append(dst, strings.Repeat(" ", 2*l.Depth)...)
		indent := len(dst) - from
		lines := []string{string(plain.Append(nil, l.Text))}
		if f.Width > 0 {
			lines = wrap(lines[0], f.Width-indent)
		}
		dst = append(append(dst, strings.Join(lines, "\n"+strings.Repeat(" ", indent))...), '\n')
		l.stacks(w, func(title string, s result.CallStack) {
			dst = fmt.Appendf(dst, "%*s%s:\n", indent, "", title)
			for line := range strings.Lines(string(f.Frames(nil, s))) {
				dst = append(append(dst, strings.Repeat(" ", indent-2)...), line...)
			}
		})
	}
	if s.Merged {
		dst = append(append(append(dst, "    "...), merged...), '\n')
	}
	if s.Doubt != "" {
		dst = append(plain.Append(append(dst, "    in doubt: "...), s.Doubt), '\n')
	}
	return dst
}

// AppendEnd appends the conclusion and the notes.
func AppendEnd(dst []byte, w *result.Why, width int) []byte {
	paragraph := func(text string) {
		lines := []string{string(plain.Append(nil, text))}
		for width > 0 && len(lines[len(lines)-1]) > width {
			first, rest, ok := breakLine(lines[len(lines)-1], width)
			if !ok {
				break
			}
			lines = append(lines[:len(lines)-1], first, rest)
		}
		dst = append(append(dst, strings.Join(lines, "\n")...), '\n')
	}
	if c := Conclusion(w); c != "" {
		paragraph(c)
	}
	for _, n := range Notes(w) {
		paragraph(n)
	}
	return dst
}

// Notes returns texts about events that were not observed and spans that were
// not explained.
func Notes(w *result.Why) []string {
	var list []string
	if w.Skipped > 0 {
		list = append(list, count(w.Skipped, "more slow span")+" "+wasWere(w.Skipped)+
			" not explained, since that would have taken more than a quarter of a CPU: -p, or a longer --than, "+
			"takes fewer, and a recording explains all")
	}
	return append(list, joined(w.Notes)...)
}

// joined merges notes with the same reason, which is in brackets at their ends.
func joined(notes []string) []string {
	var list []string
	at := map[string]int{}
	for _, n := range notes {
		what, reason, ok := strings.Cut(n, " (")
		i, known := at[reason]
		if !ok || !known {
			at[reason] = len(list)
			list = append(list, n)
			continue
		}
		before := strings.TrimSuffix(list[i], " ("+reason)
		list[i] = before + "; " + strings.TrimPrefix(what, "without ") + " (" + reason
	}
	return list
}

func wasWere(n uint64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
