package recording

import (
	"strings"

	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
)

// This file has the renderer of --when: the results of the script are not shown;
// each one triggers the writing of a recording.

// Shows reports that a result shows single pairs or events, so that it can
// trigger a recording.
func Shows(r plan.Report) bool {
	switch r.(type) {
	case *plan.Slow, *plan.Log:
		return true
	}
	return false
}

// Trigger is the command line that decides when to write: a script's, or that of trace for an event in the
// notation of -e. The names of events have a colon, those of scripts have none; the name of any other event
// follows -e.
func Trigger(text string) ([]string, error) {
	list, err := Words(text)
	switch {
	case err != nil:
		return nil, err
	case list[0] == "-e" || strings.HasPrefix(list[0], "--event"):
		return append([]string{"trace"}, list...), nil
	case isEvent(text):
		return []string{"trace", "-e", strings.TrimSpace(text)}, nil
	}
	return list, nil
}

// isEvent reports that a text begins with the name of an event: "sched:sched_switch", "mem:0x1000/4:w".
func isEvent(text string) bool {
	name, _, _ := strings.Cut(strings.TrimSpace(text), "/")
	colon := strings.IndexByte(name, ':')
	return colon > 0 && !strings.ContainsAny(name[:colon], " \t\n.-\"'")
}

// Words splits a command line into words. Quotes group words as in a shell.
func Words(text string) (list []string, err error) {
	var b strings.Builder
	quote, inWord := rune(0), false
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inWord {
				list, inWord = append(list, b.String()), false
				b.Reset()
			}
		default:
			b.WriteRune(c)
			inWord = true
		}
	}
	if inWord {
		list = append(list, b.String())
	}
	if quote != 0 || len(list) == 0 {
		return nil, usagef("option", "--when", "got %q, want an event, or a script with its options", text).
			WithHint("write --when 'oom:mark_victim' or --when 'syscalls --than 10ms'")
	}
	return list, nil
}

// Asking returns a renderer that shows nothing and calls ask for each shown pair or
// event, with the reason in words. name is the name of the script.
func Asking(name string, ask func(why string)) render.Renderer { return asking{ask: ask, name: name} }

// asking implements the renderer of Asking.
type asking struct {
	render.Ignore
	ask  func(why string)
	name string
}

// Show implements render.Renderer.
func (r asking) Show(x result.Result) error {
	switch x := x.(type) {
	case *result.Line:
		r.ask(r.name + " showed an event")
	case *result.Detail:
		r.ask(r.name + " showed a slow pair, " + x.Pair)
	case *result.Why:
		if x.Slow.Spans > 0 {
			r.ask(r.name + " explained a slow span")
		}
	}
	return nil
}
