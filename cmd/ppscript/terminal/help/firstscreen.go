package help

import (
	"slices"
	"strings"
)

// This file says what help on a script shows first: the question, an example with its output, and the few
// options that most people want.

// Many is how many options the first screen has.
const Many = 5

// Split takes the docstring of a script apart: head is the question, with the
// example and the output that follow it; rest is what is said of them.
func Split(doc string) (head, rest string) {
	paragraphs := strings.SplitAfter(doc, "\n\n")
	n := min(1, len(paragraphs))
	for n < len(paragraphs) && strings.HasPrefix(paragraphs[n], "    ") {
		n++
	}
	return strings.Join(paragraphs[:n], ""), strings.Join(paragraphs[n:], "")
}

// Crop cuts the lines of output that are wider than the page: what they are
// like is seen from their beginning. Commands stay whole.
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

// An Option is one that the first screen could show.
type Option struct {
	Name, Short string
	// Own says that the script declares it, and no other script of its kind does.
	Own bool
}

// Options that many scripts have: wanted are the ones to try first, seldom those
// that have a good default.
var (
	wanted = []string{"than", "pids", "interval"}
	seldom = []string{"events", "key"}
)

// Choose names at most Many options, in the order of the list: those of the
// example first, then what most people want, then the script's own.
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

// optionsIn are the options that the commands in a text are given.
func optionsIn(text string) map[string]bool {
	used := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "ppscript ") {
			continue
		}
		for _, word := range strings.Fields(line) {
			if word == "--" {
				break // the rest is another program's
			}
			if strings.HasPrefix(word, "-") {
				name, _, _ := strings.Cut(word, "=")
				used[name] = true
			}
		}
	}
	return used
}
