package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/library"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"
)

const modUse = "mod init PATH | get LIB[@VERSION]... | tidy | vendor | verify | why LIB | list"

var modWords = []string{"get", "init", "list", "tidy", "vendor", "verify", "why"}

func (a *app) modCommand() *cobra.Command {
	return &cobra.Command{
		Use: modUse, Short: "Keep a library of scripts, and the versions of those it needs",
		Long: `A directory with a ppscript.mod is a library: its scripts load files of other libraries by path, in the version that
ppscript.mod and theirs ask for (the highest of them, never a newer one).

    init PATH          make this directory a library
    get LIB[@VERSION]  require a library; without a version, or @latest, the newest
    tidy               require what the scripts load, and nothing else
    vendor             copy everything needed into vendor/, which is then used
    verify             check what was fetched against ppscript.sum
    why LIB            who asks for a library
    list               the libraries in use, with versions

PPSCRIPTPROXY names where they come from: file:///DIR, https://HOST, direct (git), off; several with commas.
PPSCRIPTCACHE is where they are kept; PPSCRIPTNOSUM lists patterns of those that ppscript.sum does not pin.`,
		Example: "    ppscript mod init git.example.com/perf/mine\n    ppscript mod get git.example.com/perf/disk@v1.2.0\n    ppscript git.example.com/perf/disk//latency",
		Args:    cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return startingWith(modWords, word), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.mod(args) },
	}
}

func (a *app) mod(args []string) error {
	if len(args) == 0 {
		return usagef("mod", "", "something is missing").WithHint("write: ppscript %s", modUse)
	}
	word, args := args[0], args[1:]
	least, most := 0, 0
	switch word {
	case "init", "why":
		least, most = 1, 1
	case "get":
		least, most = 1, -1
	case "tidy", "vendor", "verify", "list":
	default:
		return usagef("mod", word, "unknown%s", diag.DidYouMean(word, modWords)).WithHint("write: ppscript %s", modUse)
	}
	if len(args) < least || most >= 0 && len(args) > most {
		return usagef("mod "+word, strings.Join(args, " "), "got %d arguments, want %d", len(args), least).WithHint("write: ppscript %s", modUse)
	}
	if word == "init" {
		return a.modInit(args[0])
	}
	ctx, w := watchSignals(nil)
	defer w.close()
	a.ctx = ctx
	l, err := a.library(".")
	if err != nil {
		return err
	}
	switch word {
	case "get":
		list, err := l.Get(ctx, args)
		return a.versions(list, err)
	case "tidy":
		added, dropped, err := l.Tidy(ctx)
		if err != nil {
			return err
		}
		for _, v := range added {
			fmt.Fprintf(a.stdout, "added %s %s\n", v.Path, v.Version)
		}
		for _, v := range dropped {
			fmt.Fprintf(a.stdout, "dropped %s %s\n", v.Path, v.Version)
		}
		return nil
	case "vendor":
		list, err := l.Vendor(ctx)
		return a.versions(list, err)
	case "verify":
		n, err := l.Verify(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "all right: %d libraries are what %s says\n", n, library.SumName)
		return nil
	case "why":
		chain, err := l.Why(ctx, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, l.Mod.Path)
		return a.versions(chain, nil)
	}
	list, err := l.List(ctx)
	return a.versions(list, err)
}

func (a *app) versions(list []module.Version, err error) error {
	for _, v := range list {
		if err == nil {
			_, err = fmt.Fprintf(a.stdout, "%s %s\n", v.Path, v.Version)
		}
	}
	return err
}

func (a *app) modInit(path string) error {
	if err := library.Init(".", path); err != nil {
		return err
	}
	a.say("made " + library.ModName + "; put scripts beside it, and require libraries with: ppscript mod get")
	return nil
}

// libraryScripts lists the scripts of a library that have a main, by path, with
// the first line of what they say about themselves.
func libraryScripts(dir string) (names, summaries []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != dir && (d.Name() == "vendor" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(p) != ".star" || strings.HasSuffix(p, "_test.star"):
			return nil
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if !strings.Contains("\n"+string(src), "\ndef main(") {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		names = append(names, filepath.ToSlash(rel))
		summaries = append(summaries, summaryOf(string(src)))
		return err
	})
	return names, summaries, err
}

// summaryOf is the first line of a script's docstring.
func summaryOf(src string) string {
	_, doc, _ := strings.Cut(src, `"""`)
	doc, _, _ = strings.Cut(doc, `"""`)
	line, _, _ := strings.Cut(strings.TrimSpace(doc), "\n")
	return line
}

// isLibrary reports that dir has a ppscript.mod.
func isLibrary(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, library.ModName))
	return !errors.Is(err, fs.ErrNotExist)
}
