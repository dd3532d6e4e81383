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

// This file matches the values of a request with the patterns of a rule. A value is parsed first.
// Each event of a list, item between commas and argument of a command must match a pattern by
// itself, so that * never matches across items. (A pattern over the whole text would permit
// anything after a comma.)
//
// Every value that can be parsed as events is, no matter which option it belongs to: the caller may
// not know the types of the script's options, and a script may make events from any text.

// Events returns the events that a text names, including events in the options of profilers; none
// if the text is not a list of events.
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
			continue // the profiler refuses the same text later
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

// fits reports that a rule allows a value: each of its events, or of its items between commas,
// matches one of the alternatives.
func fits(alternatives, value string) bool {
	patterns := strings.Split(alternatives, "|")
	if alternatives == value || slices.Contains(patterns, value) {
		return true // literally
	}
	// A list without structured events, such as "sched:sched_switch" or "5", may be something else
	// than events. It is matched as text.
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

// structured reports that an event has a filter, attributes or a probe, so that its text cannot
// be anything but an event.
func structured(s *plan.Source) bool { return s.Filter != "" || len(s.Attrs) > 0 || s.Probe != nil }

func itemFits(pattern, item string) bool {
	if low, high, ranged := strings.Cut(pattern, ".."); ranged {
		return within(low, high, item)
	}
	return wordFits(pattern, item)
}

// wordFits reports that a word matches a pattern. A path with ".." matches no wildcards: it
// would lead out of the pattern's directory.
func wordFits(pattern, word string) bool {
	if pattern == word {
		return true
	}
	if leadsOut(word) || strings.ContainsAny(word, "*?[") && strings.ContainsAny(pattern, "?[") {
		return false // "*" in the word is a wildcard too; a "?" must not match it
	}
	return glob.Match(pattern, word)
}

// leadsOut reports that a word contains a path with "..".
func leadsOut(word string) bool {
	return slices.Contains(strings.FieldsFunc(word, func(c rune) bool {
		return strings.ContainsRune("/=:, \t\n\"'", c)
	}), "..")
}

// plainAttr matches an attribute's value of names and numbers only. Such a value reads no memory
// and calls no function.
var plainAttr = regexp.MustCompile(`^[\w.,+-]*$`)

// reachingAttrs are attributes that send or receive events, run code for them,
// or refer to a guest.
var reachingAttrs = []string{"push", "pull", "exec", "vm"}

// eventFits reports that an event matches a pattern. The pattern has the form of an event:
// SYSTEM:NAME, or SYSTEM:NAME/FILTER/ATTRIBUTE=VALUE/. A kernel filter only leaves events out, so
// any filter is allowed, and so are attributes with plain values. The file of a probe, the options
// of a profiler and all other attributes must be in the pattern.
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

// listFits reports that each item of a list with commas matches a pattern.
func listFits(pattern, value string) bool {
	for item := range strings.SplitSeq(value, ",") {
		if !wordFits(pattern, strings.TrimSpace(item)) {
			return pattern == value
		}
	}
	return true
}

// eventName returns the name of an event. For a probe it leaves out the file.
func eventName(s *plan.Source) string {
	if s.Probe != nil {
		return s.Probe.Kind.String() + ":" + s.Name
	}
	return s.FullName()
}

// everyFurther as the last word of a pattern allows any further arguments of the command.
const everyFurther = "**"

// commandFits reports that a command matches a pattern word by word.
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
