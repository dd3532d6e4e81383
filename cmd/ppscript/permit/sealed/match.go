package sealed

import (
	"regexp"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/recording"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/glob"
)

// This file matches the values of a request with the patterns of a rule. A value is parsed first: events of a
// list, items between commas and arguments of a command each need a pattern of their own, so that * never
// crosses from one to the next. (A pattern over the whole text lets through whatever is behind a comma.)
//
// Values are parsed as events wherever they can be, whatever their option is: an agent does not know the
// options of scripts, and a script may take events of any text.

// Events are those that a text names, also those in options of profilers among them; none if it is no list
// of events.
func Events(text string) (all []*plan.Source) {
	list, err := eventstring.Parse(text, kernel.ParseCPUList)
	if err != nil {
		return nil
	}
	for _, s := range list {
		all = append(all, s)
		if s.Kind != eventspec.Script || s.Filter == "" || len(s.Filter) >= len(text) {
			continue
		}
		words, err := recording.Words(s.Filter)
		if err != nil {
			continue // the profiler refuses them, too
		}
		for _, word := range words {
			if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
				word = value
			}
			all = append(all, Events(word)...)
		}
	}
	return all
}

// fits reports that a value is one of those that a rule allows: each of its events, or of its items with
// commas, is for one of the alternatives.
func fits(alternatives, value string) bool {
	patterns := strings.Split(alternatives, "|")
	if alternatives == value || slices.Contains(patterns, value) {
		return true // in so many words
	}
	// Words such as sched:sched_switch or 5 can be something else than events, and are the same as texts.
	list, err := eventstring.Parse(value, kernel.ParseCPUList)
	if err == nil && slices.ContainsFunc(list, structured) {
		return !slices.ContainsFunc(list, func(s *plan.Source) bool {
			return !slices.ContainsFunc(patterns, func(p string) bool { return eventFits(p, s) })
		})
	}
	for item := range strings.SplitSeq(value, ",") {
		if !slices.ContainsFunc(patterns, func(p string) bool { return itemFits(p, item) }) {
			return false
		}
	}
	return true
}

// structured reports that an event has more than a name: its text is nothing else than an event.
func structured(s *plan.Source) bool { return s.Filter != "" || len(s.Attrs) > 0 || s.Probe != nil }

func itemFits(pattern, item string) bool {
	if low, high, ranged := strings.Cut(pattern, ".."); ranged {
		return within(low, high, item)
	}
	return wordFits(pattern, item)
}

// wordFits matches a word with a pattern. One that has .. leads out of what a pattern says.
func wordFits(pattern, word string) bool {
	if pattern == word {
		return true
	}
	if leadsOut(word) || strings.ContainsAny(word, "*?[") && strings.ContainsAny(pattern, "?[") {
		return false // a * of the word would stand for more than the pattern's ?
	}
	return glob.Match(pattern, word)
}

// leadsOut reports that a word has a path with .. in it.
func leadsOut(word string) bool {
	return slices.Contains(strings.FieldsFunc(word, func(c rune) bool {
		return strings.ContainsRune("/=:, \t\n\"'", c)
	}), "..")
}

// plainAttr is a value of an attribute that names fields and numbers: it reads no memory, and calls nothing.
var plainAttr = regexp.MustCompile(`^[\w.,+-]*$`)

// reachingAttrs are attributes that lead out of the event, or run code over it.
var reachingAttrs = []string{"push", "pull", "exec", "vm"}

// eventFits matches an event with a pattern, which has the form of one: SYSTEM:NAME, or
// SYSTEM:NAME/FILTER/ATTRIBUTE=VALUE/. A filter of the kernel's only leaves events out, so any may be
// given, and so may attributes that say in plain words how an event is shown. Others, the file of a
// probe, and the options of a profiler, must be in the pattern.
func eventFits(pattern string, s *plan.Source) bool {
	like := &plan.Source{}
	like.Name = pattern
	if list, err := eventstring.Parse(pattern, kernel.ParseCPUList); err == nil && len(list) == 1 {
		like = list[0]
		if like.Kind != s.Kind {
			return false
		}
		pattern = eventName(like)
	}
	if !wordFits(pattern, eventName(s)) || s.Kind == eventspec.Script && s.Filter != like.Filter {
		return false
	}
	if p := s.Probe; p != nil && p.File != "" && (like.Probe == nil || !wordFits(like.Probe.File, p.File)) {
		return false
	}
	for _, a := range s.Attrs {
		if !slices.Contains(reachingAttrs, a.Name) && plainAttr.MatchString(a.Value) {
			continue
		}
		values := like.Attr(a.Name)
		if !slices.ContainsFunc(values, func(p string) bool { return listFits(p, a.Value) }) {
			return false
		}
	}
	return true
}

// listFits matches each item of a list with commas.
func listFits(pattern, value string) bool {
	for item := range strings.SplitSeq(value, ",") {
		if !wordFits(pattern, strings.TrimSpace(item)) {
			return pattern == value
		}
	}
	return true
}

// eventName is an event without its file.
func eventName(s *plan.Source) string {
	if s.Probe != nil {
		return s.Probe.Kind.String() + ":" + s.Name
	}
	return s.FullName()
}

// everyFurther is the last word of a pattern of commands that take any further arguments.
const everyFurther = "**"

// commandFits matches a command with a pattern, word by word.
func commandFits(pattern string, command []string) bool {
	words, err := recording.Words(pattern)
	if err != nil || len(words) == 0 {
		return false
	}
	if n := len(words) - 1; words[n] == everyFurther {
		words = words[:n]
		command = command[:min(n, len(command))]
	}
	return slices.EqualFunc(words, command, wordFits)
}
