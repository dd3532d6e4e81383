package docs

import "strings"

// This file finds what answers a question here that people know by the name of another tool. The
// pages about those tools are the list: a row of their tables has names and what to write here.

// ends are what distributions put behind the names of tools: opensnoop-bpfcc, opensnoop.bt, opensnoop-perf.
var ends = []string{"-bpfcc", ".bt", "-perf", ".py"}

// ToolName is the name of a tool without the end that tells whose it is.
func ToolName(name string) string {
	for _, end := range ends {
		if short, ok := strings.CutSuffix(name, end); ok && short != "" {
			return short
		}
	}
	return name
}

// Called is what the pages say of a tool of another program, with the page that says it.
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

// names reports that a cell has a name as code, alone, in front of options, or behind perf.
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
