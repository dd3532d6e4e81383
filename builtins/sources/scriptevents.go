package sources

import (
	"strconv"

	"ppscript/runtime/plan"
	"ppscript/runtime/result/view"
)

// This file finds the streams behind the results of a script, for a script that is used as a
// source.

// shownStreams returns the streams of the logs among a script's results; without logs, the streams
// that its tables count. Streams of counters are left out.
func shownStreams(reports []plan.Report) []plan.Stream {
	var logs, rest []plan.Stream
	add := func(list []plan.Stream, s plan.Stream) []plan.Stream {
		for _, have := range list {
			if have == s {
				return list
			}
		}
		if counts(s) {
			return list
		}
		return append(list, s)
	}
	for _, r := range reports {
		switch r := r.(type) {
		case *plan.Log:
			logs = add(logs, r.In)
		case *plan.Text:
		case *plan.Why:
			if r.In != nil { // nil for why_thread
				rest = add(rest, r.In)
			}
		case *plan.Slow:
			logs = add(logs, &plan.Where{In: r.In, Pred: pred(r)})
		default:
			rest = add(rest, r.Input())
		}
	}
	if len(logs) > 0 {
		return logs
	}
	return rest
}

// pred returns the condition for a pair to be shown by slow.
func pred(s *plan.Slow) plan.Fn {
	switch {
	case s.Than >= 0 && s.Lower >= 0:
		return plan.Fn{Text: num("delay > ", s.Than) + " || " + num("delay < ", s.Lower)}
	case s.Than >= 0:
		return plan.Fn{Text: num("delay > ", s.Than)}
	}
	return plan.Fn{Text: num("delay < ", s.Lower)}
}

func num(text string, n int64) string { return text + strconv.FormatInt(n, 10) }

// counts reports that a stream is made from reads of counters.
func counts(s plan.Stream) bool {
	if _, ok := s.(*plan.Counters); ok {
		return true
	}
	for _, in := range s.Inputs() {
		if counts(in) {
			return true
		}
	}
	return false
}

// shownTexts returns the functions by which tables of a script show fields as
// text, by the name of the field.
func shownTexts(reports []plan.Report) map[string]view.CellFunc {
	var texts map[string]view.CellFunc
	for _, r := range reports {
		g, ok := r.(*plan.Group)
		if !ok {
			continue
		}
		for _, v := range g.By {
			if text := g.View.Texts[v.Name]; text != nil && v.Fn.Text != "" {
				if texts == nil {
					texts = map[string]view.CellFunc{}
				}
				texts[v.Fn.Text] = text
			}
		}
	}
	return texts
}
