package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/cmd/ppscript/terminal/help"
	"ppscript/runtime/text/diag"
	"ppscript/scripts"
	"ppscript/stdlib"

	"github.com/spf13/cobra"
)

func listCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list [scripts|events|DIR] [TEXT]",
		Short: "List the profilers, the scripts of a library, and the kernel's events",
		Long: `Lists the profilers, the scripts of the library in this directory or in scripts/, or of the library DIR, and the kernel's events, as -e takes them. With TEXT only profilers and scripts whose name or description contains it, and events whose system:name does; TEXT may have * ? [a-z]. As perf list, hw, sw, cache, tool, pmu, raw and tracepoint are the events of a kind, with what they count.

Without TEXT a terminal gets the systems of the events, with how many each has; a pipe gets all events, one a line.`,
		Example: "    ppscript list\n    ppscript list sched\n    ppscript list events 'kvm:*exit*'\n    ppscript list hw\n    ppscript list | grep sched:",
		Args:    words(0, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string,
			word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return startingWith([]string{"scripts", "events"}, word), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return (&lister{&a.Console}).list(args) },
	}
}

// A lister lists scripts and events.
type lister struct{ *console.Console }

func (l *lister) list(args []string) error {
	what, text := "", ""
	for _, arg := range args {
		if what == "" && text == "" && (arg == "scripts" || arg == "events") {
			what = arg
			continue
		}
		if dir, ok := libraryDir(arg); ok && what == "" {
			what = dir
			continue
		}
		if text != "" {
			return usagef("list", arg, "one text only, got %s before", text).
				WithHint("write: ppscript list events TEXT")
		}
		text = arg
	}
	if what != "" && what != "scripts" && what != "events" {
		n, err := l.listLibrary(what, text)
		if n == 0 && err == nil {
			err = usagef("list", what, "no script here has %q in its name or description", text).
				WithHint("list all of them: ppscript list %s", what)
		}
		return err
	}
	n := 0
	if what != "events" && (what == "scripts" || !strings.Contains(text, ":")) {
		var err error
		if n, err = l.listAllScripts(text); err != nil {
			return err
		}
	}
	if what == "scripts" {
		if n == 0 {
			return usagef("list", text, "no such profiler%s", diag.DidYouMean(text, shipped())).
				WithHint("list all: ppscript list")
		}
		return nil
	}
	if err := help.List(l.Console, text, what == "events", n > 0); err != nil &&
		(n == 0 || errors.Is(err, syscall.EPIPE)) {
		return err // without tracefs or such an event, the list of profilers is enough
	}
	return nil
}

// listAllScripts lists the profilers, and the scripts of the library in the working directory.
func (l *lister) listAllScripts(text string) (n int, err error) {
	n, err = l.listScripts(text)
	for _, dir := range []string{".", "scripts"} {
		if err == nil && isLibrary(dir) {
			more := 0
			more, err = l.listLibrary(dir, text)
			n += more
		}
	}
	return n, err
}

func (l *lister) listScripts(text string) (n int, err error) {
	w := bufio.NewWriter(l.Text())
	width := 0
	for _, name := range shipped() {
		width = max(width, len(name))
	}
	text = strings.ToLower(display(text))
	for _, name := range append(stdlib.Names(), scripts.Names()...) {
		summary := cmp.Or(stdlib.Summary(name), scripts.Summary(name))
		if !strings.Contains(display(name), text) && !strings.Contains(strings.ToLower(summary), text) {
			continue
		}
		n++
		fmt.Fprintf(w, "%-*s  %s\n", width, display(name), summary)
	}
	return n, w.Flush()
}

// libraryDir reports that an argument is the directory of a library, not a text to search for: it
// contains a slash, or the directory has a ppscript.mod.
func libraryDir(arg string) (string, bool) {
	st, err := os.Stat(arg)
	if err != nil || !st.IsDir() || !strings.Contains(arg, "/") && !isLibrary(arg) {
		return "", false
	}
	return filepath.Clean(arg), true
}

// listLibrary lists the scripts of a library by the paths that run them.
func (l *lister) listLibrary(dir, text string) (n int, err error) {
	names, summaries, err := libraryScripts(dir)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriter(l.Text())
	width := 0
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
		width = max(width, len(names[i]))
	}
	text = strings.ToLower(text)
	for i, name := range names {
		if strings.Contains(strings.ToLower(name+"\n"+summaries[i]), text) {
			n++
			fmt.Fprintf(w, "%-*s  %s\n", width, name, summaries[i])
		}
	}
	return n, w.Flush()
}
