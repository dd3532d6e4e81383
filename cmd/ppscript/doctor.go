package main

import (
	"ppscript/cmd/ppscript/console"
	"ppscript/cmd/ppscript/findings"

	"github.com/spf13/cobra"
)

func doctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show what works on this machine, and how to fix what does not",
		Args:  words(0, 0),
		Long: `Tries out what tracing needs and shows for each thing whether it works and, if not, what makes it work.
Exits with 3 if a whole kind of event cannot be used.`,
		RunE: func(c *cobra.Command, _ []string) error { return examine(a, c) },
	}
}

func examine(a *app, c *cobra.Command) error {
	bad, err := findings.Report(c.Context(), a.Stdout, console.Colorful(a.Stdout, "auto"))
	if err != nil {
		return err
	}
	if bad {
		return exitError(exitAttach)
	}
	return nil
}
