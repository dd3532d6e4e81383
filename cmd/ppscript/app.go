package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ppscript/cmd/ppscript/editor/langserver"
	"ppscript/cmd/ppscript/editor/mcpserver"
	"ppscript/cmd/ppscript/fleet"
	"ppscript/cmd/ppscript/fleet/peers"
	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/cmd/ppscript/recording/diff"
	"ppscript/cmd/ppscript/recording/resolve"
	"ppscript/cmd/ppscript/recording/resultfile"
	"ppscript/cmd/ppscript/recording/symbolize"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/source/wallclock"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"

	"github.com/spf13/cobra"
)

// An app is one invocation of the program.
type app struct {
	console.Console
	helpError error // error of writing the help of a subcommand
	zoneError error // TZ is invalid: local times are shown in UTC
	token     string

	libs    libraries
	scratch scratch
	vetting vetting
	limits  limits.Policy // this machine's limits of scripts; the zero value means the defaults
	unsaved unsavedFile   // of check
	nowhere bool          // stdout seems to be closed

	asker *fleet.Asker // runs the script on other machines; nil: it runs here

	watching atomic.Bool // a watch handles the signals

	// scriptTime bounds how long a script may take to load and to describe its run; with 0 only the
	// number of its steps is bounded.
	scriptTime time.Duration
}

// newApp returns an app that writes to the process's standard output and standard error.
func newApp() *app {
	a := &app{Console: console.Console{Stdout: os.Stdout, Stderr: os.Stderr},
		nowhere: resultfile.Nowhere(os.Stdout)}
	a.libs.Say = a.Say
	zone, err := wallclock.LocalZone(os.Getenv("TZ"), time.Local)
	// A goroutine of a library may read time.Local already, so it is written only if TZ has its
	// own rules.
	if zone != time.Local {
		time.Local = zone
	}
	a.zoneError = err
	return a
}

// dispatch runs the subcommand that args name, else the script.
//
// cobra also looks for subcommands after options. Here only the first word can
// be one, so that the value of a script's option is not taken for a subcommand.
func (a *app) dispatch(args []string) error {
	a.Mode = colorIn(args)
	a.Color = console.Colorful(os.Stderr, a.Mode)
	root := a.root()
	root.SetArgs(args)
	prompt := len(args) == 0 && interactive()
	err := a.vet(args, prompt)
	if err == nil && (len(args) == 0 || args[0] != "doctor") { // doctor itself reports what is wrong
		a.limits, err = limits.Read(limits.File, sign.RootsOwn)
	}
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "--symbols" {
		return symbolize.Run(args[1:], os.Stdin, a.Text(), func() { a.enterReader(false) })
	}
	if len(args) > 0 && !isCommand(root, args[0]) {
		return a.script(args)
	}
	if prompt {
		return repl(a, nil)
	}
	return errors.Join(root.Execute(), a.helpError)
}

func isCommand(root *cobra.Command, word string) bool {
	if strings.HasPrefix(word, "__complete") {
		return true // cobra's subcommand for shells' completion
	}
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return c.Name() == word || c.HasAlias(word)
	})
}

// commands has the functions that make the subcommands; each has a file.
var commands = []func(*app) *cobra.Command{
	listCommand, helpCommand, explainCommand, checkCommand, docCommand, describeCommand, recordCommand, infoCommand,
	doctorCommand, probeCommand, replCommand, modCommand, fmtCommand, newCommand, testCommand, usdtCommand,
	versionCommand, completionCommand, exportCommand, signCommand, verifyCommand, sealedCommand,
}

// root makes the tree of subcommands. Scripts are not in it.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:                "ppscript NAME|FILE [options] [-- command]",
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE:               func(*cobra.Command, []string) error { return usage(&a.Console, false) },
		ValidArgsFunction: func(
			_ *cobra.Command, args []string, word string,
		) ([]string, cobra.ShellCompDirective) {
			return completeScript(a, args, word)
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetHelpCommand(helpCommand(a))
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { a.helpError = commandHelp(&a.Console, c, nil) })
	for _, command := range commands {
		root.AddCommand(command(a))
	}
	root.AddCommand(mcpserver.Command(buildVersion(), func(word string) bool {
		return isCommand(root, word)
	}))
	root.AddCommand(peers.Command(a.Text()))
	walls := namerWalls(a)
	root.AddCommand(resolve.Command(resolve.Environment{Stdout: a.Text(), Say: a.Say, Confine: walls}))
	root.AddCommand(diff.Command(diff.Environment{Stdout: a.Stdout, Stderr: a.Stderr, Say: a.Say,
		Confine: func(writes []string) { walls(writes, false) }}))
	root.AddCommand(langserver.Command(a.editing))
	for _, c := range a.fleetProgram().Commands() {
		root.AddCommand(c)
	}
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
