package main

import (
	"github.com/spf13/cobra"
)

func completionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Short: "Write the completion script of a shell",
		Example:   "    source <(ppscript completion bash)\n    ppscript completion zsh > \"${fpath[1]}/_ppscript\"\n    ppscript completion fish | source",
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      words(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				_, err := a.Stdout.WriteString(bashCompletion)
				return err
			case "zsh":
				return c.Root().GenZshCompletion(a.Stdout)
			}
			return c.Root().GenFishCompletion(a.Stdout, true)
		},
	}
}
