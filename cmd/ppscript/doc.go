package main

import (
	"io"
	"strings"

	"ppscript/runtime/diag"

	"github.com/spf13/cobra"
)

func (a *app) docCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doc [NAME]", Short: "Explain a word of the language, or list them",
		Example: "    ppscript doc join\n    ppscript doc stream.by\n    ppscript doc agg",
		Args:    words(0, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			_, reg, err := a.newHost()
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return reg.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.doc(args) },
	}
}

func (a *app) doc(args []string) error {
	_, reg, err := a.newHost()
	if err != nil {
		return err
	}
	text := reg.Overview()
	if len(args) == 1 {
		var ok bool
		if text, ok = reg.HelpOfName(args[0]); !ok {
			return usagef("doc", args[0], "no such word%s", diag.DidYouMean(args[0], reg.Names())).
				WithHint("list them: ppscript doc")
		}
	}
	_, err = io.WriteString(a.stdout, strings.TrimRight(text, "\n")+"\n")
	return err
}
