package mcpserver

import (
	"fmt"
	"slices"
	"strings"
)

// This file decides what a client may ask for: a run that only observes, and ends. The run itself
// gets --look-only, so that it writes no file and opens no connection.

// members are options that clients may not pass: they are set by members of a
// tool's input, or would lift a bound.
var members = []string{"duration", "input", "format", "color", "c", "budget", "memory", "max-rows"}

// named is an error if a name is not the name of a script. Other files are
// refused because a message about a syntax error would quote a line of them.
func (s *server) named(name string) error {
	switch {
	case s.IsCommand(name):
		return fmt.Errorf("name %s: that is a command of ppscript, not a script", name)
	case strings.ContainsAny(name, "/.") && !strings.Contains(name, "//") &&
		!strings.HasSuffix(name, ".star"):
		return fmt.Errorf("name %s: files of scripts end in .star", name)
	}
	return nil
}

// permitted is an error if one of the options is refused.
func permitted(options []string) error {
	for _, word := range options {
		name, long := strings.CutPrefix(word, "--")
		switch {
		case word == "--":
			return fmt.Errorf("option --: a command stands in the member command")
		case long:
		case strings.HasPrefix(word, "-") && len(word) > 1 && (word[1] < '0' || word[1] > '9'):
			if len(word) > 2 {
				return fmt.Errorf("option %s: write one letter, and its value as a word of its own", word)
			}
			name = word[1:]
		default:
			continue // a value
		}
		name, _, _ = strings.Cut(name, "=")
		if slices.Contains(members, strings.ReplaceAll(name, "_", "-")) {
			return fmt.Errorf("option %s: not from here: use the members of the tool, "+
				"such as seconds, input and json", word)
		}
	}
	return nil
}

// local refuses events with the attribute push= or pull=, which send events to
// another machine or receive them from there.
func local(events []string) error {
	for _, word := range events {
		for _, attribute := range []string{"push=", "pull="} {
			if strings.Contains(word, attribute) {
				return fmt.Errorf("event %s: events are not sent from here, nor received", word)
			}
		}
	}
	return nil
}
