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
		Long: `Serves the Language Server Protocol on standard input and output. With it, an editor shows mistakes while you type, completes
words of the language, events and fields, explains the word under the cursor, goes to definitions, also in libraries, and formats scripts. Scripts are
loaded, not run: nothing is observed. docs/editors.md describes the setup for VS Code, Vim, Neovim, Emacs and Helix.`,
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
