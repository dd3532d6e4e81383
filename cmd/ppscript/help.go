package main

import (
	"slices"
	"strings"

	"ppscript/cmd/ppscript/terminal/help"
	"ppscript/docs"
	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"
	"ppscript/scripts"
	"ppscript/stdlib"

	"github.com/spf13/cobra"
)

func helpCommand(a *app) *cobra.Command {
	full := false
	c := &cobra.Command{
		Use:   "help [NAME | COMMAND | event EVENT | [topic] TOPIC | topics]",
		Short: "Explain a profiler, a subcommand, an event or a topic",
		Example: "    ppscript help kvm-exit\n    ppscript help event sched:sched_wakeup\n" +
			"    ppscript help topics\n    ppscript help cookbook",
		Args: words(0, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string,
			word string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return startingWith(slices.Concat(shipped(), commandNames, docs.Names(),
						[]string{"event", "topic", "topics"}), display(word)),
					cobra.ShellCompDirectiveNoFileComp
			case len(args) == 1 && args[0] == "event":
				return completeEvents(word)
			case len(args) == 1 && args[0] == "topic":
				return startingWith(docs.Names(), word), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return helpOn(a, c, args, full) },
	}
	c.Flags().BoolVar(&full, "full", false,
		"of events also how their lines are printed, and the command lines that take them")
	return c
}

func helpOn(a *app, c *cobra.Command, args []string, full bool) error {
	switch {
	case len(args) == 0:
		return usage(&a.Console, false)
	case args[0] == "event" && len(args) == 2:
		return helpEvents(a, &invocation{asks: question{helpEvents: args[1:]}}, !full)
	case args[0] == "event":
		return usagef("help", "event", "no event named").
			WithHint("write: ppscript help event sched:sched_switch")
	case args[0] == "topics" && len(args) == 1:
		return helpTopic(a, "")
	case args[0] == "topic" && len(args) == 2:
		return helpTopic(a, args[1])
	case args[0] == "topic":
		return usagef("help", "topic", "no topic named").WithHint("list them with: ppscript help topics")
	case len(args) == 2:
		return usagef("help", args[1], "one name at a time").WithHint("write: ppscript help %s", args[0])
	}
	if _, ok := stdlib.Find(args[0]); !ok && isCommand(c.Root(), args[0]) {
		sub, _, err := c.Root().Find(args[:1])
		if err != nil {
			return err
		}
		return sub.Help()
	}
	if _, ok := docs.Page(args[0]); ok && !slices.Contains(shipped(), display(args[0])) {
		return helpTopic(a, args[0])
	}
	a.scriptTime = lookTime
	host, reg, err := a.newHost()
	if err != nil {
		return err
	}
	inv, err := a.invoke(host, []string{args[0], "--help"})
	if err != nil {
		if text, ok := reg.HelpOfName(args[0]); ok && diag.ClassOf(err) == diag.Usage {
			return a.Page(a.Layout(true).Text(text))
		}
		return err
	}
	return scriptHelp(&a.Console, inv)
}

// helpTopic shows a page of docs/; "" is the list of them.
func helpTopic(a *app, name string) error {
	text, ok := help.Topic(&a.Console, name)
	if !ok {
		return usagef("help", "topic "+name, "there is no such page%s", diag.DidYouMean(name, docs.Names())).
			WithHint("list them with: ppscript help topics")
	}
	return a.Page(text)
}

// helpEvents explains events, with command lines that use them: of the named script, or of all
// profilers.
func helpEvents(a *app, inv *invocation, brief bool) error {
	show := help.Show{Console: &a.Console, Tasks: namesTasks, Brief: brief,
		Users: append(stdlib.Names(), scripts.Names()...)}
	show.Host = func() (*script.Host, error) {
		host, _, err := a.newHost()
		return host, err
	}
	if inv.module != nil {
		show.Users = []string{strings.ReplaceAll(inv.name, "-", "_")}
	}
	return show.Events(inv.asks.helpEvents)
}
