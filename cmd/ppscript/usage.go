package main

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/cmd/ppscript/terminal/help"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// tasks lists what ppscript can do, with the first steps of a new user at the top.
var tasks = []struct {
	name string
	list [][2]string
}{
	{"Ask", [][2]string{
		{"NAME|FILE [options] [-- command]", "run a profiler or a script"},
		{"-c PROGRAM [options] [-- command]", "run one line"},
		{"", "try things out: a prompt for the language"},
	}},
	{"Find out", [][2]string{
		{"list [TEXT]", "the profilers and the kernel's events"},
		{"list events [TEXT]", "the kernel's events only"},
		{"help NAME", "what a profiler answers, its options, an example"},
		{"help topics", "the book: tutorial, cookbook, from perf, ..."},
		{"-e EVENT help", "the fields of an event, and its profilers"},
		{"probe -x FILE -F | -L FUNC | -V FUNC", "functions, lines and variables that can be probed"},
		{"usdt list FILE", "the probes that a program or library has"},
		{"explain NAME|FILE [options]", "what would run, and where"},
		{"doctor", "what works on this machine"},
	}},
	{"Recordings and results", [][2]string{
		{"record -e EVENTS -o FILE", "record events for later: --input FILE"},
		{"info FILE", "what a recording has, and what can be asked of it"},
		{"diff BEFORE AFTER", "what changed between two runs by more than noise"},
		{"resolve FILE", "name the functions in results saved without names"},
		{"--symbols FILE", "name addresses, as pprof --symbols does"},
		{"export CONFIG", "run scripts without end, as metrics and profiles"},
	}},
	{"Scripts", [][2]string{
		{"new NAME -e EVENTS", "write a script to start with"},
		{"check FILE...", "find mistakes without running"},
		{"test [FILE|DIR...]", "run the tests of scripts"},
		{"fmt FILE|DIR...", "format scripts"},
		{"doc [NAME]", "the words of the language"},
		{"mod init|get|tidy|vendor|...", "libraries of scripts, with versions"},
		{"sign KEY FILE...", "vouch for scripts and all that they load"},
		{"verify FILE...", "who signed scripts"},
		{"sealed NAME|FILE [options]", "run what root's rules let you run"},
		{"describe NAME|FILE", "a script, or what runs print, for programs"},
		{"lsp", "help an editor with scripts"},
		{"mcp", "answer an assistant, by the Model Context Protocol"},
	}},
	{"Many machines", [][2]string{
		{"fleet hosts|run|jobs|stop|logs", "ask many hosts one question"},
		{"agent", "be asked"},
		{"hub", "run the server where agents and askers of a fleet meet"},
		{"merger", "merge results of many hosts for the asker"},
		{"tls new|show", "keys of hosts that send events to each other"},
	}},
	{"Else", [][2]string{
		{"version", "the version"},
		{"completion bash|zsh|fish", "completion for a shell"},
	}},
}

const shortExamples = `Examples

    ppscript kvm-exit -p 1234 -i 1s
    ppscript trace -e sched:sched_wakeup -N 10
    ppscript -c 'tracepoint("sched:sched_wakeup").by("comm").count().top(10)' -- make

Every script has more options: where to look (-C, -p, -t, --cgroups, --unit, --container, --pod, --input), how long (-i, --duration, -N), where results go (-o, --format, --flame-graph). All of them: ppscript --help-all
`

// usage shows the general help. all says that --help-all was given.
func usage(con *console.Console, all bool) error {
	var w strings.Builder
	l := con.Layout(false)
	w.WriteString("ppscript: scripts that observe the kernel\n\n")
	for _, group := range tasks {
		fmt.Fprintf(&w, "%s\n", con.Title(group.name))
		for _, t := range group.list {
			console.TwoColumns(&w, strings.TrimRight("    ppscript "+t[0], " "), t[1], 48, l.Width)
		}
		w.WriteString("\n")
	}
	w.WriteString(l.Text(shortExamples))
	if all {
		w.WriteString("\nOptions of every script\n")
		printFlags(con, &w, newFlags(nil).list, true)
	}
	return con.Page(w.String())
}

// commandHelp explains a subcommand. more has options that are not declared in
// cobra.
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
				return // the user has found it already
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

// scriptHelp explains one script: its question, an example and the options to
// begin with on the first screen; then what else its docstring says, then the rest.
func scriptHelp(con *console.Console, inv *invocation) error {
	var w strings.Builder
	l := con.Layout(false)
	m := inv.module
	doc := m.Doc
	if doc == "" {
		doc = m.Name + ": a script without docstring"
	}
	head, about := help.Split(console.Cleaned(doc))
	w.WriteString(strings.TrimRight(help.Crop(l.Text(head), l.Width), "\n") + "\n")
	first := firstOptions(inv, head)
	printGroup(con, &w, "First options", first)
	if about != "" {
		fmt.Fprintf(&w, "\n%s\n\n%s", con.Title("About"), l.Text(about))
	}
	fmt.Fprintf(&w, "\n%s\n\n%s", con.Title("Usage"),
		l.Text(fmt.Sprintf("    ppscript %s [options]%s [-- command]", inv.name, m.Options.Usage())))
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
	rest := slices.DeleteFunc(slices.Clone(inv.flags.list), func(f *flag) bool {
		return slices.Contains(first, f)
	})
	printFlags(con, &w, rest, all)
	if !all {
		w.WriteString("\n" + l.Text(fmt.Sprintf(
			"Options of every script, such as -C, -p, -i, --duration, -o and --format: ppscript %s --help-all",
			inv.name)))
	}
	return con.Page(w.String())
}

// firstOptions returns the options of a script that its help shows first.
func firstOptions(inv *invocation, head string) []*flag {
	var list []help.Option
	shared := map[string]bool{}
	if set := inv.module.Options; set != nil {
		for i := range set.Options[:set.Shared] {
			shared[set.Options[i].Flag()] = true
		}
	}
	for _, f := range inv.flags.list {
		if f.helpPlace != never {
			list = append(list, help.Option{Name: f.name, Short: f.short,
				Own: f.own && !shared[f.name]})
		}
	}
	var first []*flag
	for _, name := range help.Choose(list, head) {
		first = append(first, inv.flags.list[slices.IndexFunc(inv.flags.list,
			func(f *flag) bool { return f.name == name })])
	}
	return first
}

// printFlags prints options in groups: name, value, help with the default; the
// common ones only if all is set.
func printFlags(con *console.Console, w *strings.Builder, list []*flag, all bool) {
	for _, group := range []string{"Arguments", "", groupTarget, groupRun, groupOutput, groupOther} {
		title := group
		if title == "" {
			title = "Options"
		}
		var members []*flag
		for _, f := range list {
			in := f.group
			if !all && f.own && in != "Arguments" {
				in = ""
			}
			if in == group && f.helpPlace != never && (all || in == "" || f.own || f.helpPlace == briefly) {
				members = append(members, f)
			}
		}
		printGroup(con, w, title, members)
	}
}

// printGroup prints options below a heading, if there are any.
func printGroup(con *console.Console, w *strings.Builder, title string, list []*flag) {
	if len(list) > 0 {
		fmt.Fprintf(w, "\n%s\n", con.Title(title))
	}
	width := con.Layout(true).Width
	for _, f := range list {
		printFlag(w, f, width)
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
