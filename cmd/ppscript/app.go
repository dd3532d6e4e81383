package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ppscript/runtime/diag"
	"ppscript/runtime/plain"

	"github.com/spf13/cobra"
)

// An app is one invocation of the program.
type app struct {
	stdout *os.File
	stderr io.Writer
	color  bool // of messages
	// colorMode is --color, known before anything else is.
	colorMode string
	helpError error // of writing the help of a subcommand
	token     string
	quiet     int

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
	a.colorMode = colorIn(args)
	a.color = colorful(os.Stderr, a.colorMode)
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
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
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

// further stands in front of the further lines of a message, so that a quoted
// text, such as a name chosen by others, never begins a line.
const further = "    "

// text is the output for texts from files and other people.
func (a *app) text() io.Writer { return plain.NewWriter(a.stdout) }

// report tells the user an error: message, place, hint.
func (a *app) report(err error) {
	var b strings.Builder
	b.WriteString(a.paint("1;31", "ppscript:") + " " + plain.Text(err.Error(), further) + "\n")
	if x := excerptOf(err); x != "" {
		b.WriteString(plain.Text(x, "") + "\n")
	}
	if hint := hintOf(err); hint != "" {
		b.WriteString(a.paint("1", "hint:") + " " + plain.Text(hint, further) + "\n")
	}
	io.WriteString(a.stderr, b.String())
}

// excerptOf is the source line of the first error in the chain that has one.
func excerptOf(err error) string {
	var e *diag.Error
	for errors.As(err, &e) {
		if e.Excerpt != "" {
			return e.Excerpt
		}
		err = e.Cause
	}
	return ""
}

// say prints a message that is not an error.
func (a *app) say(line string) {
	if a.quiet == 0 {
		fmt.Fprintln(a.stderr, "ppscript: "+plain.Text(line, further))
	}
}

func (a *app) paint(sgr, text string) string {
	if !a.color {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

func usagef(op, subject, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Usage, op, subject, format, args...)
}
