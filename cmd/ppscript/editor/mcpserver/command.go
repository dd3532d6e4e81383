package mcpserver

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ppscript/runtime/text/diag"
)

// Command returns the subcommand mcp. version is the program's; isCommand reports that a word is a
// subcommand of the program.
func Command(version string, isCommand func(word string) bool) *cobra.Command {
	o := Options{Program: "/proc/self/exe", Version: version, IsCommand: isCommand}
	seconds := 60
	c := &cobra.Command{
		Use:     "mcp [--max-seconds N] [--record DIR] [--commands]",
		Short:   "Answer questions of language models, by the Model Context Protocol",
		Long:    `Speaks the Model Context Protocol on standard input and output, for assistants and agents: they can list and describe profilers and events, check scripts, run them for some seconds, and query recordings, also in SQL. Each question is a run of its own, with the rights of the user who started this command. Long answers are cut, and the rest can be asked for. Nothing is written, sent or started unless an option below permits it.`,
		Example: "    ppscript mcp\n    claude mcp add ppscript -- sudo ppscript mcp --max-seconds 30",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.MaxTime = time.Duration(seconds) * time.Second
			if seconds < 1 {
				return diag.Errorf(diag.Usage, "option", "--max-seconds", "got %d, want at least 1", seconds)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return Serve(ctx, o)
		},
	}
	c.Flags().IntVar(&seconds, "max-seconds", seconds, "how long one run may be: `N` seconds")
	c.Flags().StringVar(&o.RecordInto, "record", "", "permit recordings, into the folder `DIR`")
	c.Flags().BoolVar(&o.Commands, "commands", false, "permit runs to start commands and observe them")
	return c
}
