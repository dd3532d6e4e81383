package starfmt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"

	"github.com/rogpeppe/go-internal/diff"
)

// A Formatter formats the files of scripts for ppscript fmt.
type Formatter struct {
	Out               io.Writer
	Diff, List, Write bool // without one of them, the result goes to Out
}

// Format formats files, and all scripts in and below directories. With List, unformatted says
// that at least one file would change.
func (f *Formatter) Format(args []string) (unformatted bool, err error) {
	var files []string
	for _, arg := range args {
		found, err := Tree(arg, "")
		if err != nil {
			return false, err
		}
		files = append(files, found...)
	}
	var errs []error
	for _, name := range files {
		changed, err := f.file(name)
		unformatted = unformatted || changed
		if err != nil {
			errs = append(errs, err)
		}
	}
	return unformatted, errors.Join(errs...)
}

func (f *Formatter) file(name string) (changed bool, err error) {
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
	out, err := Format(name, src)
	if err != nil {
		return false, err
	}
	changed = !bytes.Equal(src, out)
	switch {
	case f.Diff && changed:
		_, err = f.Out.Write(diff.Diff(name, src, name+" formatted", out))
	case f.List && changed:
		fmt.Fprintln(f.Out, name)
	}
	if f.Write && changed && name != "-" {
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
	if !f.Diff && !f.List && !f.Write {
		_, err = f.Out.Write(out)
	}
	return changed, err
}

// Tree lists scripts: arg itself if it is a file, or the files in and below a
// directory whose names end in suffix.star. It leaves out vendor/, testdata/
// and hidden directories.
func Tree(arg, suffix string) ([]string, error) {
	st, err := os.Stat(arg)
	if arg == "-" || err == nil && !st.IsDir() {
		return []string{arg}, nil
	}
	if err != nil {
		return nil, diag.Errorf(diag.Usage, "read", arg, "%w", diag.Reason(err)).
			WithHint("give a .star file or a directory")
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
			// Only regular files: to read a named pipe could wait forever.
			if st, err := os.Stat(p); err != nil || st.Mode().IsRegular() {
				files = append(files, p)
			}
		}
		return nil
	})
	return files, err
}
