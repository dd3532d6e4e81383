package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppscript/runtime/script/library"
	"ppscript/runtime/text/diag"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"
)

const modUse = "mod init PATH | get LIB[@VERSION]... | tidy | vendor | verify | why LIB | list | work DIR..."

var modWords = []string{"get", "init", "list", "tidy", "vendor", "verify", "why", "work"}

// modCommand returns the subcommand mod, which makes a directory a library of scripts and
// manages the versions of the libraries that it requires.
func modCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: modUse, Short: "Make a library of scripts, and manage the libraries that it requires",
		Long: `A directory with a ppscript.mod is a library. Its scripts load files of other libraries by path. The version of a library
is the highest one that any of the ppscript.mod files requires, never a newer one.

    init PATH          make this directory a library
    get LIB[@VERSION]  require a library; without a version, or @latest, the newest
    tidy               require what the scripts load, and nothing else
    vendor             copy everything needed into vendor/, which is then used
    verify             check what was fetched, and vendor/, against ppscript.sum
    why LIB            which libraries require a library
    list               the libraries in use, with versions
    work DIR...        make this directory a workspace: the libraries in these directories use each other as they are

A ppscript.mod has lines of three kinds:

    module git.example.com/perf/mine
    require git.example.com/perf/disk v1.2.0
    replace git.example.com/perf/disk => ../disk        # or => git.example.com/fork/disk v1.2.1

A library can be a directory of a repository. Its tags then begin with the directory: net/v1.2.0 is the version v1.2.0 of
git.example.com/perf/lib/net. A ppscript.work has lines "use DIR"; PPSCRIPTWORK=off ignores it.

Before a script of a library runs, all files of the library are hashed. The hash must equal the one in ppscript.sum, which get,
tidy and vendor write. A run adds a new hash only on a terminal, where the user sees a message. A library that is named with a version or @latest
outside of any library is pinned in ppscript/ppscript.sum in the user's configuration directory.

PPSCRIPTPROXY lists the sources of libraries, separated by commas: file:///DIR, https://HOST, direct (git), off.
PPSCRIPTCACHE is the directory for fetched libraries. PPSCRIPTNOSUM has patterns of libraries that ppscript.sum does not pin.`,
		Example: "    ppscript mod init git.example.com/perf/mine\n    ppscript mod get git.example.com/perf/disk@v1.2.0\n    ppscript git.example.com/perf/disk//latency\n" +
			"    ppscript git.example.com/perf/disk@latest//latency",
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string,
			word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return startingWith(modWords, word), cobra.ShellCompDirectiveNoFileComp
			}
			if args[0] == "work" {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.mod(args) },
	}
}

func (a *app) mod(args []string) error {
	if len(args) == 0 {
		return diag.Errorf(diag.Usage, "mod", "", "arguments: got 0, want at least 1").
			WithHint("write: ppscript %s", modUse)
	}
	word, args := args[0], args[1:]
	least, most := 0, 0
	switch word {
	case "init", "why":
		least, most = 1, 1
	case "get", "work":
		least, most = 1, -1
	case "tidy", "vendor", "verify", "list":
	default:
		return diag.Errorf(diag.Usage, "mod", word, "unknown%s", diag.DidYouMean(word, modWords)).
			WithHint("write: ppscript %s", modUse)
	}
	if len(args) < least || most >= 0 && len(args) > most {
		return diag.Errorf(diag.Usage, "mod "+word, strings.Join(args, " "),
			"got %d arguments, want %d", len(args), least).
			WithHint("write: ppscript %s", modUse)
	}
	if word == "init" {
		return a.initLibrary(args[0])
	}
	if word == "work" {
		dirs, err := library.Work(".", args)
		for _, d := range dirs {
			fmt.Fprintf(a.Text(), "use %s\n", d)
		}
		return err
	}
	ctx, w := a.watchSignals(nil)
	defer w.close()
	a.libs.Ctx = ctx
	l, err := a.libs.Library(".")
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
			fmt.Fprintf(a.Text(), "added %s %s\n", v.Path, v.Version)
		}
		for _, v := range dropped {
			fmt.Fprintf(a.Text(), "dropped %s %s\n", v.Path, v.Version)
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
		fmt.Fprintf(a.Text(), "all right: %d libraries are what %s says\n", n, library.SumName)
		return nil
	case "why":
		chain, err := l.Why(ctx, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Text(), l.Mod.Path)
		return a.versions(chain, nil)
	}
	dirs := l.Dirs()
	for _, d := range dirs {
		fmt.Fprintln(a.Text(), d)
	}
	if l.Mod == nil && dirs != nil {
		return nil // a workspace directory that is not a library itself
	}
	list, err := l.List(ctx)
	return a.versions(list, err)
}

func (a *app) versions(list []module.Version, err error) error {
	for _, v := range list {
		if err == nil {
			_, err = fmt.Fprintf(a.Text(), "%s %s\n", v.Path, v.Version)
		}
	}
	return err
}

func (a *app) initLibrary(path string) error {
	if err := library.Init(".", path); err != nil {
		return err
	}
	a.Say("made " + library.ModName + "; put scripts beside it, and require libraries with: ppscript mod get")
	return nil
}

// libraryScripts returns the scripts of a library that have a main, by path,
// with the first line of their docstrings.
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

// summaryOf returns the first line of a script's docstring.
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
