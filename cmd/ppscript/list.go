package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/tracefs"
	"ppscript/scripts"
	"ppscript/stdlib"

	"github.com/spf13/cobra"
)

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list [scripts|events|DIR] [TEXT]", Short: "List the profilers, the scripts of a library, or the kernel's tracepoints",
		Long: `Lists the profilers, and the scripts of the library in this directory or in scripts/, or of the library DIR, whose name or description contains TEXT. If none does, or TEXT has a colon, lists the kernel's
tracepoints whose sys:name contains it.`,
		Example: "    ppscript list\n    ppscript list events sched\n    ppscript list kvm:",
		Args:    words(0, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return startingWith([]string{"scripts", "events"}, word), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.list(args) },
	}
}

func (a *app) list(args []string) error {
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
			return usagef("list", arg, "one text only, got %s before", text).WithHint("write: ppscript list events TEXT")
		}
		text = arg
	}
	if what != "" && what != "scripts" && what != "events" {
		n, err := a.listLibrary(what, text)
		if n == 0 && err == nil {
			err = usagef("list", what, "no script here has %q in its name or description", text).WithHint("list all of them: ppscript list %s", what)
		}
		return err
	}
	if what != "events" && (what == "scripts" || !strings.Contains(text, ":")) {
		n, err := a.listScripts(text)
		for _, dir := range []string{".", "scripts"} {
			if err == nil && isLibrary(dir) {
				more := 0
				more, err = a.listLibrary(dir, text)
				n += more
			}
		}
		if n > 0 || err != nil {
			return err
		}
		if what == "scripts" || text == "" {
			return usagef("list", text, "no such profiler%s", diag.DidYouMean(text, shipped())).WithHint("list all: ppscript list")
		}
	}
	return a.listEvents(text)
}

func (a *app) listScripts(text string) (n int, err error) {
	w := bufio.NewWriter(a.text())
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

// libraryDir reports that an argument is a directory, not a text: it has a
// slash, or a ppscript.mod.
func libraryDir(arg string) (string, bool) {
	st, err := os.Stat(arg)
	if err != nil || !st.IsDir() || !strings.Contains(arg, "/") && !isLibrary(arg) {
		return "", false
	}
	return filepath.Clean(arg), true
}

// listLibrary lists the scripts of a library as they are called.
func (a *app) listLibrary(dir, text string) (n int, err error) {
	names, summaries, err := libraryScripts(dir)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriter(a.text())
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

func (a *app) listEvents(text string) error {
	fs, err := tracefs.Find()
	if err != nil {
		return err
	}
	names, err := fs.Events()
	if err != nil {
		return err
	}
	found, glob := names, strings.ContainsAny(text, "*?[")
	if glob {
		if found, err = fs.Match(text); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(a.text())
	n := 0
	for _, name := range found {
		if glob || strings.Contains(name, text) {
			n++
			w.WriteString(name + "\n")
		}
	}
	if n == 0 {
		return usagef("list", text, "no profiler and no event is called so%s", diag.DidYouMean(text, names)).
			WithHint("list all events: ppscript list events")
	}
	return w.Flush()
}
