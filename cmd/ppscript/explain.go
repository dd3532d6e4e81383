package main

import (
	"io"

	"ppscript/runtime/script/option"
	"ppscript/runtime/session"

	"github.com/spf13/cobra"
)

func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                "explain NAME|FILE|-c PROGRAM [options]",
		Short:              "Show what a script would open and what runs where",
		Example:            "    ppscript explain kvm-exit --perins\n    ppscript explain -c 'tracepoint(\"sched:sched_wakeup\").by(\"comm\").count()'",
		DisableFlagParsing: true,
		ValidArgsFunction: func(
			_ *cobra.Command, args []string, word string,
		) ([]string, cobra.ShellCompDirective) {
			return completeScript(a, args, word)
		},
		RunE: func(c *cobra.Command, args []string) error { return explain(a, c, args) },
	}
}

func explain(a *app, c *cobra.Command, args []string) error {
	a.libs.Offline = true
	a.scriptTime = lookTime
	host, _, err := a.newHost()
	if err != nil {
		return err
	}
	inv, err := a.invoke(host, args)
	if err != nil {
		return err
	}
	switch {
	case inv.asks.help && inv.module != nil:
		return scriptHelp(&a.Console, inv)
	case inv.asks.help:
		return commandHelp(&a.Console, c, newFlags(nil).list)
	case inv.asks.noName || len(inv.asks.helpEvents) > 0 || inv.asks.version:
		return usagef("", "", "no script named").
			WithHint("name a profiler or a file: ppscript explain NAME [options]")
	}
	reports, err := inv.reports()
	if err != nil {
		return err
	}
	if inv.common.input != "" {
		a.enterReader(false)
	}
	cfg, err := a.config(inv, reports)
	if err != nil {
		return err
	}
	cfg.Messages, cfg.Notes = a.Say, a.Say
	d, err := session.Explain(cfg)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.Text(), d.Text)
	return err
}

// required names the first option without which a script does not run.
func required(set *option.Set) string {
	if set == nil {
		return ""
	}
	for i := range set.Options {
		if o := &set.Options[i]; o.Required {
			if o.Positional {
				return o.Placeholder()
			}
			return "--" + o.Flag()
		}
	}
	return ""
}
