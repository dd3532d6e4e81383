package help

import (
	"slices"
	"strings"
)

// This file selects what the help of a script shows first: the question that it answers, an example
// with output, and the few options that most people want.

// Many is the maximum number of options on the first screen.
const Many = 5

// Split splits the docstring of a script: head has the question and the example
// with its output, rest the explanations.
func Split(doc string) (head, rest string) {
	paragraphs := strings.SplitAfter(doc, "\n\n")
	n := min(1, len(paragraphs))
	for n < len(paragraphs) && strings.HasPrefix(paragraphs[n], "    ") {
		n++
	}
	return strings.Join(paragraphs[:n], ""), strings.Join(paragraphs[n:], "")
}

// Crop cuts lines of example output that are wider than the page, since their
// beginning is enough to see their form. Commands are not cut.
func Crop(text string, width int) string {
	var w strings.Builder
	for line := range strings.Lines(text) {
		cut := strings.TrimSuffix(line, "\n")
		letters := []rune(cut)
		if len(letters) > width && strings.HasPrefix(line, "    ") &&
			!strings.HasPrefix(strings.TrimSpace(line), "ppscript ") {
			cut = strings.TrimRight(string(letters[:width-4]), " ") + " ..."
		}
		w.WriteString(cut + line[len(strings.TrimSuffix(line, "\n")):])
	}
	return w.String()
}

// An Option is a candidate for the first screen.
type Option struct {
	Name, Short string
	// Own says that only this script declares the option.
	Own bool
}

// Options that many scripts have: wanted should be tried first; seldom have a
// good default.
var (
	wanted = []string{"than", "pids", "interval"}
	seldom = []string{"events", "key"}
)

// Choose selects at most Many options and returns their names in the order of
// the list. Options of the example have priority, then the wanted ones, then
// the script's own.
func Choose(list []Option, head string) []string {
	var chosen []string
	add := func(want func(Option) bool) {
		for _, o := range list {
			if len(chosen) < Many && want(o) && !slices.Contains(chosen, o.Name) {
				chosen = append(chosen, o.Name)
			}
		}
	}
	used := optionsIn(head)
	add(func(o Option) bool { return used["--"+o.Name] || o.Short != "" && used["-"+o.Short] })
	add(func(o Option) bool { return slices.Contains(wanted, o.Name) })
	add(func(o Option) bool { return o.Own && !slices.Contains(seldom, o.Name) })
	add(func(o Option) bool { return o.Name == "duration" })
	var ordered []string
	for _, o := range list {
		if slices.Contains(chosen, o.Name) {
			ordered = append(ordered, o.Name)
		}
	}
	return ordered
}

// optionsIn returns the options in the ppscript commands of a text.
func optionsIn(text string) map[string]bool {
	used := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "ppscript ") {
			continue
		}
		for _, word := range strings.Fields(line) {
			if word == "--" {
				break // the rest is the command to observe
			}
			if strings.HasPrefix(word, "-") {
				name, _, _ := strings.Cut(word, "=")
				used[name] = true
			}
		}
	}
	return used
}
