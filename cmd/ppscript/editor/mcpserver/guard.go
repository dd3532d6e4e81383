package mcpserver

import (
	"fmt"
	"slices"
	"strings"
)

// This file says what a client may ask for: a run that looks and ends. That it writes no file and talks to
// nobody is the run's own --look-only.

// members are options that are members of the tools, or lift a bound.
var members = []string{"duration", "input", "format", "color", "c", "budget", "memory", "max-rows"}

// named says why a name is not that of a script. Of another file, a message about
// a mistake in it would show a line.
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

// permitted says which option is refused, if one is.
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

// local refuses events that say where else they are sent, or received.
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
