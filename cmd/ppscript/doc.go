package main

import (
	"strings"

	"ppscript/builtins/all"
	"ppscript/runtime/text/diag"

	"github.com/spf13/cobra"
)

func docCommand(a *app) *cobra.Command {
	stubs := false
	c := &cobra.Command{
		Use: "doc [NAME | --stubs]", Short: "Explain a word of the language, or list them",
		Example: "    ppscript doc join\n    ppscript doc stream.by\n    ppscript doc agg\n    ppscript doc --stubs > __builtins__.pyi",
		Args:    words(0, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string,
			word string) ([]string, cobra.ShellCompDirective) {
			reg, err := all.Tests(nil)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return startingWith(reg.Names(), word), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return showDoc(a, args, stubs) },
	}
	c.Flags().BoolVar(&stubs, "stubs", false,
		"write the words as a Python stub file, for editors: ppscript doc --stubs > __builtins__.pyi")
	return c
}

func showDoc(a *app, args []string, stubs bool) error {
	reg, err := all.Tests(nil) // builtins are described, not called
	if err != nil {
		return err
	}
	text := reg.Overview()
	if stubs {
		text = reg.Stubs()
	}
	if len(args) == 1 {
		var ok bool
		if text, ok = reg.HelpOfName(args[0]); !ok {
			return usagef("doc", args[0], "no such word%s", diag.DidYouMean(args[0], reg.Names())).
				WithHint("list them: ppscript doc")
		}
	}
	text = strings.TrimRight(text, "\n") + "\n"
	if stubs {
		_, err = a.Stdout.WriteString(text)
		return err
	}
	return a.Page(a.Layout(true).Text(text))
}
