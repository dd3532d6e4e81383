package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppscript/cmd/ppscript/starfmt"
	"ppscript/runtime/diag"
	"ppscript/runtime/script"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
)

func fmtCommand(a *app) *cobra.Command {
	f := formatter{out: a.Stdout}
	c := &cobra.Command{
		Use: "fmt [-d|-l|-w|--check] FILE|DIR...", Short: "Format scripts in the usual style",
		Long: `Writes scripts in the one style that all have: four spaces, double quotes, one argument a line where there are several
lines, the links of a chain below its head. The rows of a table and blank lines before comments stay as they are. Without an option the
result goes to the output; - is the input.`,
		Example: "    ppscript fmt -w disk.star\n    ppscript fmt -l scripts",
		Args:    words(1, -1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"star"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			f.list = f.list || f.check
			return f.format(args)
		},
	}
	c.Flags().BoolVarP(&f.diff, "diff", "d", false, "show what would change")
	c.Flags().BoolVarP(&f.list, "list", "l", false,
		"name the files that would change; exit with 1 if there are any")
	c.Flags().BoolVar(&f.check, "check", false, "the same as --list: for scripts that check others")
	c.Flags().BoolVarP(&f.write, "write", "w", false, "write the files")
	return c
}

// A formatter formats scripts as its options say.
type formatter struct {
	out                      *os.File
	diff, list, check, write bool
}

func (f *formatter) format(args []string) error {
	var files []string
	for _, arg := range args {
		found, err := starTree(arg, "")
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	unformatted := false
	var errs []error
	for _, name := range files {
		changed, err := f.file(name)
		unformatted = unformatted || changed
		if err != nil {
			errs = append(errs, err)
		}
	}
	if errs == nil && f.list && unformatted {
		return exitError(exitRun)
	}
	return errors.Join(errs...)
}

func (f *formatter) file(name string) (changed bool, err error) {
	var src []byte
	if name == "-" {
		src, err = script.ReadSource(os.Stdin)
	} else {
		src, err = script.ReadFile(name)
	}
	if err != nil {
		return false, &diag.Error{
			Op: "read", Subject: name, Cause: diag.Reason(err), Hint: "check the name: ls -l " + name,
		}
	}
	out, err := starfmt.Format(name, src)
	if err != nil {
		return false, err
	}
	changed = !bytes.Equal(src, out)
	switch {
	case f.diff && changed:
		_, err = f.out.Write(diff.Diff(name, src, name+" formatted", out))
	case f.list && changed:
		fmt.Fprintln(f.out, name)
	}
	if f.write && changed && name != "-" {
		st, e := os.Stat(name)
		if e != nil {
			return changed, e
		}
		if e := os.WriteFile(name, out, st.Mode().Perm()); e != nil {
			return changed, &diag.Error{
				Op:      "write",
				Subject: name,
				Cause:   diag.Reason(e),
				Hint:    "check its permissions: ls -l " + name,
			}
		}
	}
	if !f.diff && !f.list && !f.write {
		_, err = f.out.Write(out)
	}
	return changed, err
}

// starTree lists the scripts whose names end in suffix.star: the file itself,
// or those in and below a directory, without vendor/ and hidden ones.
func starTree(arg, suffix string) ([]string, error) {
	st, err := os.Stat(arg)
	if arg == "-" || err == nil && !st.IsDir() {
		return []string{arg}, nil
	}
	if err != nil {
		return nil, usagef("read", arg, "%w", diag.Reason(err)).WithHint("give a .star file or a directory")
	}
	var files []string
	err = filepath.WalkDir(arg, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != arg &&
			(d.Name() == "vendor" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case strings.HasSuffix(d.Name(), suffix+".star"):
			// Whoever made a pipe of that name need not write into it.
			if st, err := os.Stat(p); err != nil || st.Mode().IsRegular() {
				files = append(files, p)
			}
		}
		return nil
	})
	return files, err
}
