package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppscript/runtime/script/library"

	"github.com/spf13/cobra"
)

func modCommand(a *app) *cobra.Command {
	return newModCommand(&modProgram{
		Libs: &a.libs, Text: a.Text(), Say: a.Say, Starting: startingWith,
		Watch: func() (context.Context, func()) {
			ctx, w := a.watchSignals(nil)
			return ctx, w.close
		},
	})
}

// libraryScripts lists the scripts of a library that have a main, by path, with
// the first line of their docstrings.
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
