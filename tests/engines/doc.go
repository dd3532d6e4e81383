// Package engines has every script that comes along and fits into the kernel,
// and compares what it shows there with what it shows without: both engines at
// the same time, on the same events. A script that fits and is in no comparison
// fails TestEachScriptIsCompared.
//
// What is compared: tables by name and title; rows by their keys, each cell;
// histograms by their buckets; stacks by their frames; lines of logs by thread and
// what. Numbers are equal. Times are not, since each engine reads a clock of its
// own a moment before or after the other: an event's time within perEvent and
// share of it, sums by as much for each of their events. Quantiles are as exact as
// they say.
package engines

import (
	"path"
	"strings"
)

// A Comparison is a command line whose results both engines must agree on. Words
// in braces are the scene's, see Words.
type Comparison struct {
	Script string // its name in stdlib, or its path in the repository
	Args   string // options as --name=value, then arguments
	Scene  string // what happens meanwhile

	// ByThread is -p of the scene's program, else all CPUs are traced, and
	// Mine says which rows are the scene's: a pattern for the text of a column.
	ByThread bool
	Mine     map[string]string
	// Ignore are columns that nobody can compare: points in time, where the
	// engines look at different moments, and what is computed of times.
	Ignore []string
	// Interrupts says that events come in interrupts. The kernel has no program
	// run that interrupts another one, and keeps such an event from perf too: so
	// few look at the same time.
	Interrupts bool
	// Wakes says that it is about threads that wake up. While perf wakes the
	// readers of its rings it gets no events that this makes, more or fewer of
	// them as machines have it: what is counted may differ by missed, and times
	// are compared where as many events were.
	Wakes bool
	// Alone says that nobody else may take stacks there: the kernel gives all who
	// look at a page fault the stack that the first one asked for.
	Alone bool
	// Recursive says that programs cause such events themselves, for their rows:
	// an engine without sees them, programs lose and count them.
	Recursive bool
	// Kernel is the series of the first kernel of tests/vm that it fits on; "" is all.
	Kernel string
	// Sampled says that each engine takes samples of its own.
	Sampled bool
}

// Command is the command line behind the name of the program.
func (c *Comparison) Command(words map[string]string) []string {
	name := c.Script
	if !strings.HasSuffix(name, ".star") {
		name = strings.ReplaceAll(name, "_", "-")
	}
	args := []string{name}
	for _, a := range strings.Fields(c.Args) {
		args = append(args, Words(a, words))
	}
	return args
}

// Words puts the scene's words in the place of {NAME}. A space in an option's
// value is written as {sp}.
func Words(text string, words map[string]string) string {
	for name, word := range words {
		text = strings.ReplaceAll(text, "{"+name+"}", word)
	}
	return strings.ReplaceAll(text, "{sp}", " ")
}

// String names the comparison in messages.
func (c *Comparison) String() string {
	return path.Base(strings.TrimSuffix(c.Script, ".star")) + " " + c.Args
}
