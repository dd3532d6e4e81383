package docs

import "strings"

// This file finds the command that does the same as another project's tool. The pages about
// these tools are the list: a row of their tables has names, and the command to type here.

// ends are suffixes that distributions add to the names of tools: opensnoop-bpfcc, opensnoop.bt,
// opensnoop-perf.
var ends = []string{"-bpfcc", ".bt", "-perf", ".py"}

// ToolName returns the name of a tool without such a suffix.
func ToolName(name string) string {
	for _, end := range ends {
		if short, ok := strings.CutSuffix(name, end); ok && short != "" {
			return short
		}
	}
	return name
}

// Called returns the pages' answer for another project's tool, with the page that has
// it.
func Called(name string) (answer, page string, ok bool) {
	name = ToolName(name)
	for _, page := range Names() {
		if page != "tools" && !strings.HasPrefix(page, "from-") {
			continue
		}
		text, _ := Page(page)
		for line := range strings.Lines(text) {
			row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if len(row) > 1 && names(row[0], name) {
				return strings.ReplaceAll(strings.TrimSpace(row[1]), "`", ""), page, true
			}
		}
	}
	return "", "", false
}

// names reports whether a cell has a name as code: alone, followed by options, or after perf.
func names(cell, name string) bool {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 0 {
			continue
		}
		words := strings.Fields(part)
		if len(words) > 1 && words[0] == "perf" {
			words = words[1:] // perf sched latency is a part of sched
		}
		if len(words) > 0 && ToolName(words[0]) == name {
			return true
		}
	}
	return false
}
