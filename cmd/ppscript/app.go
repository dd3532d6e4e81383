package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ppscript/cmd/ppscript/console"
	"ppscript/runtime/diag"

	"github.com/spf13/cobra"
)

// An app is one invocation of the program.
type app struct {
	console.Console
	helpError error // of writing the help of a subcommand
	token     string

	ctx  context.Context // for fetching libraries; nil: until the process ends
	libs libraries

	offline bool // nothing is fetched: a script is only looked at

	scratch []string // directories to remove

	watching atomic.Bool // a watch has the signals

	// scriptTime bounds the time for loading scripts and asking them about
	// themselves, without running them; 0 is no limit but that of the steps.
	scriptTime time.Duration
}

// dispatch runs the subcommand that args name, else the script.
//
// cobra looks for subcommands behind options too; here only the first word can
// be one, so that no script's option value is taken for a subcommand.
func (a *app) dispatch(args []string) error {
	a.Mode = colorIn(args)
	a.Color = console.Colorful(os.Stderr, a.Mode)
	root := a.root()
	root.SetArgs(args)
	if len(args) > 0 && args[0] == "--symbols" {
		return a.symbolize(args[1:])
	}
	if len(args) > 0 && !isCommand(root, args[0]) {
		return a.script(args)
	}
	if len(args) == 0 && interactive() {
		return a.repl(nil)
	}
	return errors.Join(root.Execute(), a.helpError)
}

func isCommand(root *cobra.Command, word string) bool {
	if strings.HasPrefix(word, "__complete") {
		return true // cobra's door for shells
	}
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return c.Name() == word || c.HasAlias(word)
	})
}

// root is the tree of subcommands. Scripts are not in it.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:                "ppscript NAME|FILE [options] [-- command]",
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE:               func(*cobra.Command, []string) error { return a.usage(false) },
		ValidArgsFunction:  a.completeScript,
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetHelpCommand(a.helpCommand())
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { a.helpError = a.commandHelp(c, nil) })
	root.AddCommand(a.listCommand(), a.helpCommand(), a.explainCommand(), a.checkCommand(), a.docCommand(),
		a.recordCommand(), a.infoCommand(), a.doctorCommand(), a.replCommand(), a.modCommand(),
		a.fmtCommand(), a.newCommand(), a.testCommand(), a.usdtCommand(), a.versionCommand(),
		a.completionCommand())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return flagError(err, c.Flags(), c.CommandPath())
	})
	return root
}

// words checks how many arguments a subcommand has; most is -1 for any.
func words(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case most >= 0 && len(args) > most:
			return usagef(c.Name(), args[most], "not expected").WithHint("write: ppscript %s", c.Use)
		case len(args) < least:
			return usagef(c.Name(), "", "arguments: got %d, want at least %d", len(args), least).
				WithHint("write: ppscript %s", c.Use)
		case len(args) == 0 || c.ValidArgs == nil || slices.Contains(c.ValidArgs, args[0]):
			return nil
		}
		return usagef(c.Name(), args[0], "unknown%s", diag.DidYouMean(args[0], c.ValidArgs)).
			WithHint("write: ppscript %s", c.Use)
	}
}

func usagef(op, subject, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Usage, op, subject, format, args...)
}
