package langserver

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Command returns the subcommand lsp. It calls options when the subcommand
// runs.
func Command(options func() (Options, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Help editors with scripts, by the Language Server Protocol",
		Long: `Speaks the Language Server Protocol on standard input and output. Editors that know it show mistakes while one types, complete
the words of the language, events and their fields, explain what is under the cursor, go to definitions, also in libraries, and format. Scripts are loaded,
not run: nothing is observed. docs/editors.md says how VS Code, Vim, Neovim, Emacs and Helix are set up.`,
		Example: "    ppscript lsp",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			o, err := options()
			if err != nil {
				return err
			}
			return Serve(ctx, os.Stdin, os.Stdout, o)
		},
	}
}
