package mcpserver

import (
	"fmt"
	"slices"
	"strings"
)

// This file says what a client may ask for: a run that looks, writes no file,
// talks to nobody and ends.

// refused are options that write, send, listen, start something, or lift a bound.
var refused = []string{
	"output", "o", "flame-graph", "flame-base", "pprof", "speedscope", "perfetto", "firefox", "parquet",
	"http",
	"http-token", "html", "otlp", "otlp-profiles", "pyroscope", "heatmap", "allow", "no-sandbox",
	"token-file",
	"duration", "input", "format", "color", "verify", "journal", "budget", "memory", "max-rows", "c",
	"tls-cert",
	"tls-key", "tls-ca", "unix", "file", "database", "test",
}

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
		for _, attribute := range []string{"push=", "pull="} {
			if strings.Contains(word, attribute) {
				return fmt.Errorf("option %s: events are not sent from here, nor received", word)
			}
		}
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
		if slices.Contains(refused, strings.ReplaceAll(name, "_", "-")) {
			return fmt.Errorf("option %s: not from here: it writes, sends, or lifts a bound; "+
				"use the members of the tool, such as seconds, input and json", word)
		}
	}
	return nil
}
