package main

import (
	"fmt"
	"strings"

	"ppscript/cmd/ppscript/console"
	"ppscript/runtime/option"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// tasks are the things that ppscript can do.
var tasks = [][2]string{
	{"NAME|FILE [options] [-- command]", "run a profiler or a script"},
	{"-c PROGRAM [options] [-- command]", "run one line"},
	{"", "try things out: a prompt for the language"},
	{"list [TEXT]", "the profilers and the kernel's events"},
	{"list events [TEXT]", "the kernel's events only"},
	{"help NAME", "what a profiler answers, its options, an example"},
	{"-e EVENT help", "the fields of an event, and who can use it"},
	{"explain NAME|FILE [options]", "what would run, and where"},
	{"new NAME -e EVENTS", "write a script to start with"},
	{"check FILE...", "find mistakes without running"},
	{"test [FILE|DIR...]", "run the tests of scripts"},
	{"fmt FILE|DIR...", "format scripts"},
	{"mod init|get|tidy|vendor|...", "libraries of scripts, with versions"},
	{"sign KEY FILE...", "vouch for scripts and all that they load"},
	{"verify FILE...", "who signed scripts"},
	{"sealed NAME|FILE [options]", "run what root's rules let you run"},
	{"doc [NAME]", "the words of the language"},
	{"record -e EVENTS -o FILE", "record events for later: --input FILE"},
	{"usdt list FILE", "the probes that a program or library has"},
	{"--symbols FILE", "name addresses, as pprof --symbols does"},
	{"doctor", "what works on this machine"},
	{"version", "the version"},
	{"completion bash|zsh|fish", "completion for a shell"},
}

const shortExamples = `
Examples

    ppscript kvm-exit -p 1234 -i 1s
    ppscript trace -e sched:sched_wakeup -N 10
    ppscript -c 'tracepoint("sched:sched_wakeup").by("comm").count().top(10)' -- make

Every script has more options: where to look (-C, -p, -t, --cgroups, --unit, --container, --pod, --input), how long (-i, --duration, -N), where results go (-o, --format, --flame-graph). All of them: ppscript --help-all
`

// usage is the help for a user who names no subject; all is
// --help-all.
func usage(con *console.Console, all bool) error {
	var w strings.Builder
	l := con.Layout(false)
	w.WriteString("ppscript: scripts that observe the kernel\n\n")
	for _, t := range tasks {
		console.TwoColumns(&w, strings.TrimRight("    ppscript "+t[0], " "), t[1], 48, l.Width)
	}
	w.WriteString(l.Text(shortExamples))
	if all {
		w.WriteString("\nOptions of every script\n")
		printFlags(con, &w, newFlags(nil).list, true)
	}
	return con.Page(w.String())
}

// commandHelp explains a subcommand; more are options that cobra does not know.
func commandHelp(con *console.Console, c *cobra.Command, more []*flag) error {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	var w strings.Builder
	l := con.Layout(true)
	w.WriteString(l.Text(text))
	fmt.Fprintf(&w, "\n%s\n\n%s", con.Title("Usage"), l.Text("    ppscript "+c.Use))
	if c.Example != "" {
		fmt.Fprintf(&w, "\n%s\n\n%s", con.Title("Examples"), l.Text(c.Example))
	}
	if more == nil {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return // it is how one came here
			}
			metavar := ""
			if f.NoOptDefVal == "" {
				metavar = strings.ToUpper(f.Name)
			}
			more = append(more, &flag{name: f.Name, short: f.Shorthand, metavar: metavar, help: f.Usage})
		})
	}
	printFlags(con, &w, more, true)
	return con.Page(w.String())
}

// scriptHelp explains one script: its docstring, then its options.
func scriptHelp(con *console.Console, inv *invocation) error {
	var w strings.Builder
	l := con.Layout(false)
	m := inv.module
	doc := m.Doc
	if doc == "" {
		doc = m.Name + ": a script without docstring"
	}
	w.WriteString(l.Text(console.Cleaned(doc)))
	fmt.Fprintf(&w, "\n%s\n\n%s", con.Title("Usage"),
		l.Text(fmt.Sprintf("    ppscript %s [options]%s [-- command]", inv.name, arguments(m.Options))))
	if m.Options != nil {
		var args []*flag
		for i := range m.Options.Options {
			if o := &m.Options.Options[i]; o.Positional {
				args = append(args, &flag{
					name: o.Placeholder(), help: o.Help, group: "Arguments", metavar: "-", own: true,
				})
			}
		}
		printFlags(con, &w, args, true)
	}
	all := len(inv.flags.texts("help-all")) > 0
	printFlags(con, &w, inv.flags.list, all)
	if !all {
		w.WriteString("\n" + l.Text(fmt.Sprintf(
			"Options of every script, such as -C, -p, -i, --duration, -o and --format: ppscript %s --help-all",
			inv.name)))
	}
	return con.Page(w.String())
}

// arguments is how the usage line shows a script's arguments.
func arguments(set *option.Set) string {
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

// printFlags prints options in groups: name, value, help with the default; the
// common ones only if all is set.
func printFlags(con *console.Console, w *strings.Builder, list []*flag, all bool) {
	width := con.Layout(true).Width
	for _, group := range []string{"Arguments", "", groupTarget, groupRun, groupOutput, groupOther} {
		title := group
		if title == "" {
			title = "Options"
		}
		for _, f := range list {
			in := f.group
			if !all && f.own && in != "Arguments" {
				in = ""
			}
			if in != group || f.shown == never || !all && in != "" && !f.own && f.shown != briefly {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n%s\n", con.Title(title))
				title = ""
			}
			printFlag(w, f, width)
		}
	}
}

func printFlag(w *strings.Builder, f *flag, width int) {
	left := "        --" + f.name
	switch {
	case f.group == "Arguments":
		left = "    " + f.name
	case f.short != "":
		left = "    -" + f.short + ", --" + f.name
	}
	switch {
	case f.metavar == "" || f.group == "Arguments":
	case f.alone.value != "":
		left += "[=" + f.metavar + "]"
	default:
		left += " " + f.metavar
	}
	help := f.help
	if f.deflt != "" {
		help += " [" + f.deflt + "]"
	}
	console.TwoColumns(w, left, help, 32, width)
}
