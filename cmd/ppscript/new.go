package main

import (
	"ppscript/cmd/ppscript/editor/newscript"

	"github.com/spf13/cobra"
)

func newCommand(a *app) *cobra.Command {
	var events []string
	c := &cobra.Command{
		Use: "new NAME -e EVENT,...", Short: "Write a script to begin with, which runs",
		Long: `Writes NAME.star: a script that counts the events by thread and can show each, with places for what only its author
knows. It can be run as it is: ./NAME.star`,
		Example: "    ppscript new wakers -e sched:sched_waking",
		Args:    words(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := newscript.Write(args[0], events)
			if err == nil {
				a.Say("wrote " + path + "; run it: ppscript " + path + " --duration 3s")
			}
			return err
		},
	}
	c.Flags().StringArrayVarP(&events, "event", "e", nil, "tracepoints to look at")
	_ = c.RegisterFlagCompletionFunc("event",
		func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return completeEvents(word)
		})
	return c
}
