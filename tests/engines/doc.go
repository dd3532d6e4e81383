// Package engines compares, for every shipped script that can run in the
// kernel, its output there with its output in user space: both engines run at
// the same time, on the same events. A script that fits into the kernel and is
// in no comparison fails TestEachScriptIsCompared.
//
// The comparison covers tables by name and title, each cell of rows by their keys,
// histograms by their buckets, stacks by their frames, and lines of logs by thread
// and event. Numbers are equal. Times are not equal, because each engine reads a
// clock of its own a moment before or after the other: an event's time may differ
// by perEvent and a share of it, a sum by as much for each of its events.
// Quantiles may differ by their documented error.
package engines

import (
	"path"
	"strings"
)

// A Comparison is a command line whose results both engines must agree on. Words
// in braces are replaced by words of the scene, see Words.
type Comparison struct {
	Script string // its name in stdlib, or its path in the repository
	Args   string // options as --name=value, then arguments
	Scene  string // name of the scene, the program that runs meanwhile

	// ByThread observes the scene's program with -p. Otherwise all CPUs are
	// observed, and Mine selects the scene's rows: a pattern for the text of a
	// column.
	ByThread bool
	Mine     map[string]string
	// Ignore are columns that cannot be compared: points in time, which the
	// engines read at different moments, and values that are computed from
	// times.
	Ignore []string
	// Interrupts means that events occur in interrupts. The kernel does not run
	// a BPF program that would interrupt another one, and then hides the event
	// from perf too. So only few comparisons run at the same time.
	Interrupts bool
	// Wakes means that the script observes threads that wake up. While perf
	// wakes the readers of its rings, it misses the events that this causes, on
	// some machines more than on others. So counts may differ by missed, and
	// times are compared only if the numbers of events are equal.
	Wakes bool
	// Alone means that no other run may take stacks of the same event: the kernel
	// gives all observers of a page fault the stack that the first one requested.
	Alone bool
	// Recursive means that programs cause such events themselves when they
	// update their rows: the engine without programs sees these events, programs
	// lose and count them.
	Recursive bool
	// Kernel is the first kernel series of tests/vm on which the script fits; "" means
	// all.
	Kernel string
	// Sampled means that each engine takes its own samples.
	Sampled bool
}

// Command returns the command line after the name of the program.
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

// Words replaces {NAME} by the scene's words. A space in an option's value is
// written as {sp}.
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
