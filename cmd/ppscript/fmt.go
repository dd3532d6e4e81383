package main

import (
	"ppscript/cmd/ppscript/editor/starfmt"

	"github.com/spf13/cobra"
)

func fmtCommand(a *app) *cobra.Command {
	f, check := starfmt.Formatter{Out: a.Stdout}, false
	c := &cobra.Command{
		Use: "fmt [-d|-l|-w|--check] FILE|DIR...", Short: "Format scripts in the usual style",
		Long: `Writes scripts in the one style that all have: four spaces, double quotes, one argument a line where there are several
lines, the links of a chain below its head. The rows of a table and blank lines before comments stay as they are. Without an option the
result goes to the output; - is the input.`,
		Example: "    ppscript fmt -w disk.star\n    ppscript fmt -l scripts",
		Args:    words(1, -1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"star"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			f.List = f.List || check
			unformatted, err := f.Format(args)
			if err == nil && f.List && unformatted {
				return exitError(exitRun)
			}
			return err
		},
	}
	c.Flags().BoolVarP(&f.Diff, "diff", "d", false, "show what would change")
	c.Flags().BoolVarP(&f.List, "list", "l", false,
		"name the files that would change; exit with 1 if there are any")
	c.Flags().BoolVar(&check, "check", false, "the same as --list: for scripts that check others")
	c.Flags().BoolVarP(&f.Write, "write", "w", false, "write the files")
	return c
}
