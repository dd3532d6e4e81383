package main

import (
	"bufio"
	"fmt"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/tracefs"
	"ppscript/stdlib"

	"github.com/spf13/cobra"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list [scripts|events] [TEXT]", Short: "List the profilers, or the kernel's tracepoints",
		Long: `Lists the profilers whose name or description contains TEXT. If none does, or TEXT has a colon, lists the kernel's
tracepoints whose sys:name contains it.`,
		Example: "    ppscript list\n    ppscript list events sched\n    ppscript list kvm:",
		Args:    words(0, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"scripts", "events"}, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.list(args) },
	}
}

func (a *app) list(args []string) error {
	what, text := "", ""
	for _, arg := range args {
		if what == "" && text == "" && (arg == "scripts" || arg == "events") {
			what = arg
			continue
		}
		if text != "" {
			return usagef("list", arg, "one text only, got %s before", text).WithHint("write: ppscript list events TEXT")
		}
		text = arg
	}
	if what != "events" && (what == "scripts" || !strings.Contains(text, ":")) {
		if n, err := a.listScripts(text); n > 0 || err != nil {
			return err
		}
		if what == "scripts" || text == "" {
			return usagef("list", text, "no such profiler%s", diag.DidYouMean(text, profilers())).WithHint("list all: ppscript list")
		}
	}
	return a.listEvents(text)
}

func (a *app) listScripts(text string) (n int, err error) {
	w := bufio.NewWriter(a.stdout)
	width := 0
	for _, name := range stdlib.Names() {
		width = max(width, len(name))
	}
	text = strings.ToLower(display(text))
	for _, name := range stdlib.Names() {
		summary := stdlib.Summary(name)
		if !strings.Contains(display(name), text) && !strings.Contains(strings.ToLower(summary), text) {
			continue
		}
		n++
		fmt.Fprintf(w, "%-*s  %s\n", width, display(name), summary)
	}
	return n, w.Flush()
}

func (a *app) listEvents(text string) error {
	fs, err := tracefs.Find()
	if err != nil {
		return err
	}
	names, err := fs.Events()
	if err != nil {
		return err
	}
	found, glob := names, strings.ContainsAny(text, "*?[")
	if glob {
		if found, err = fs.Match(text); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(a.stdout)
	n := 0
	for _, name := range found {
		if glob || strings.Contains(name, text) {
			n++
			w.WriteString(name + "\n")
		}
	}
	if n == 0 {
		return usagef("list", text, "no profiler and no event is called so%s", diag.DidYouMean(text, names)).
			WithHint("list all events: ppscript list events")
	}
	return w.Flush()
}
