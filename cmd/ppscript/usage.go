package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"ppscript/runtime/script"

	"github.com/spf13/cobra"
)

const shortUsage = `ppscript: scripts that observe the kernel

    ppscript NAME|FILE [options] [-- command]    run a profiler or a script
    ppscript -c PROGRAM [options] [-- command]   run one line
    ppscript                                     try things out: a prompt for the language
    ppscript list                                the profilers
    ppscript list events [TEXT]                  the kernel's tracepoints
    ppscript help NAME                           what a profiler answers, its options, an example
    ppscript -e EVENT help                       who can use an event, and its fields
    ppscript explain NAME|FILE [options]         what would run, and where
    ppscript new NAME -e EVENTS                  write a script to begin with
    ppscript check FILE...                       find mistakes without running
    ppscript test [FILE|DIR...]                  run the tests of scripts
    ppscript fmt FILE|DIR...                     format scripts
    ppscript mod init|get|tidy|vendor|...        libraries of scripts, with versions
    ppscript doc [NAME]                          the words of the language
    ppscript record -e EVENTS -o FILE            record events for later: --input FILE
    ppscript info FILE                           what a recording has, and what can be asked of it
    ppscript usdt list FILE                      the probes that a program or library has
    ppscript --symbols FILE                      name addresses, as pprof --symbols does
    ppscript doctor                              what works on this machine
    ppscript version
    ppscript completion bash|zsh|fish            completion for a shell
`

const shortExamples = `
Examples

    ppscript kvm-exit -p 1234 -i 1s
    ppscript trace -e sched:sched_wakeup -N 10
    ppscript -c 'tracepoint("sched:sched_wakeup").by("comm").count().top(10)' -- make
`

// usage is what a user gets who asks for nothing in particular.
func (a *app) usage() error {
	w := bufio.NewWriter(a.text())
	w.WriteString(shortUsage)
	w.WriteString(shortExamples)
	w.WriteString("\nOptions of every script\n")
	printFlags(w, newFlags(nil).list, terminalWidth(a.stdout))
	return w.Flush()
}

// commandHelp explains a subcommand.
func (a *app) commandHelp(c *cobra.Command) {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(a.stdout, "%s\n\nUsage\n\n    ppscript %s\n", text, c.Use)
	if c.Example != "" {
		fmt.Fprintf(a.stdout, "\nExamples\n\n%s\n", c.Example)
	}
}

// scriptHelp explains one script: its docstring, then its options.
func (a *app) scriptHelp(inv *invocation) error {
	w := bufio.NewWriter(a.text())
	m := inv.module
	doc := m.Doc
	if doc == "" {
		doc = m.Name + ": a script without docstring"
	}
	fmt.Fprintf(w, "%s\n\nUsage\n\n    ppscript %s [options]%s [-- command]\n", doc, inv.name, arguments(m.Options))
	if m.Options != nil {
		var args []*flag
		for i := range m.Options.Options {
			if o := &m.Options.Options[i]; o.Positional {
				args = append(args, &flag{name: o.Placeholder(), help: o.Help, group: "Arguments", metavar: "-"})
			}
		}
		printFlags(w, args, terminalWidth(a.stdout))
	}
	printFlags(w, inv.flags.list, terminalWidth(a.stdout))
	return w.Flush()
}

// arguments is how the usage line shows a script's arguments.
func arguments(set *script.OptionSet) string {
	if set == nil {
		return ""
	}
	s := ""
	for i := range set.Options {
		o := &set.Options[i]
		if !o.Positional {
			continue
		}
		word := o.Placeholder()
		if o.List {
			word += "..."
		}
		if !o.Required {
			word = "[" + word + "]"
		}
		s += " " + word
	}
	return s
}

// printFlags prints options in groups: name, value, help with the default.
func printFlags(w io.Writer, list []*flag, width int) {
	if width < 60 || width > 120 {
		width = 100
	}
	for _, group := range []string{"Arguments", "", groupTarget, groupRun, groupOutput, groupOther} {
		title := group
		if title == "" {
			title = "Options"
		}
		for _, f := range list {
			if f.group != group || f.hidden {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n%s\n", title)
				title = ""
			}
			printFlag(w, f, width)
		}
	}
}

const helpColumn = 32

func printFlag(w io.Writer, f *flag, width int) {
	left := "        --" + f.name
	switch {
	case f.group == "Arguments":
		left = "    " + f.name
	case f.short != "":
		left = "    -" + f.short + ", --" + f.name
	}
	if f.metavar != "" && f.group != "Arguments" {
		left += " " + f.metavar
	}
	help := f.help
	if f.deflt != "" {
		help += " [" + f.deflt + "]"
	}
	for i, line := range wrap(help, width-helpColumn) {
		switch {
		case i == 0 && len(left) < helpColumn-1:
			fmt.Fprintf(w, "%-*s%s\n", helpColumn, left, line)
		case i == 0:
			fmt.Fprintf(w, "%s\n%*s%s\n", left, helpColumn, "", line)
		default:
			fmt.Fprintf(w, "%*s%s\n", helpColumn, "", line)
		}
	}
}

// wrap breaks text into lines of at most width.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
