package main

import (
	"fmt"
	"strings"

	"ppscript/runtime/session"

	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	input := ""
	c := &cobra.Command{
		Use: "check [--input FILE] SCRIPT...", Short: "Find mistakes in scripts without running them",
		Long: `Loads each script, calls its main with the options' defaults, and builds the plan: names, types, events, filters and
fields are checked against this kernel, or against a recording. Nothing is opened. Functions that will be interpreted for
every event, at ten times the cost, are named with the reason.`,
		Example: "    ppscript check disk.star\n    ppscript check --input perf.data disk.star",
		Args:    words(1, -1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"star"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			a.scriptTime = lookTime
			worst := error(nil)
			for _, name := range args {
				if err := a.check(name, input); err != nil {
					for _, e := range flatten(err) {
						a.report(e)
					}
					worst = exitError(exitRun)
				}
			}
			return worst
		},
	}
	c.Flags().StringVar(&input, "input", "", "a recording, in place of the kernel")
	return c
}

func (a *app) check(name, input string) error {
	host, _, err := a.newHost()
	if err != nil {
		return err
	}
	m, err := a.load(host, name)
	if err != nil {
		return err
	}
	verdict := func(text string) error {
		_, err := fmt.Fprintf(a.stdout, "%s: %s\n", name, text)
		return err
	}
	if m.Main == nil {
		return verdict("ok (a library: functions are checked where they are used)")
	}
	if missing := required(m.Options); missing != "" {
		return verdict("ok as far as can be seen without " + missing + " (ppscript explain " + name + " " + missing + " ... checks the rest)")
	}
	inv := &invocation{name: name, host: host}
	if err := a.invokeScript(inv, nil, name, nil); err != nil {
		return err
	}
	reports, err := inv.reports()
	if err != nil {
		return err
	}
	inv.common.input = input
	cfg, err := a.config(inv, reports)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := session.Explain(cfg, &text); err != nil {
		return err
	}
	if err := verdict("ok"); err != nil {
		return err
	}
	for _, why := range interpreted(text.String()) {
		if _, err := fmt.Fprintln(a.stdout, "    interpreted, ten times slower: "+why); err != nil {
			return err
		}
	}
	return nil
}

// interpreted takes the functions that could not be compiled out of the plan's
// description, with the reason.
func interpreted(plan string) []string {
	var list []string
	functions := false
	for line := range strings.Lines(plan) {
		why, indented := strings.CutPrefix(line, strings.Repeat(" ", 16))
		if functions = strings.HasPrefix(line, "function ") || functions && indented; functions && indented {
			list = append(list, strings.TrimSpace(why))
		}
	}
	return list
}
