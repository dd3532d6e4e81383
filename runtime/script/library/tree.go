package library

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/mod/sumdb/dirhash"

	"ppscript/runtime/text/diag"
)

// This file reads the files of a library. All files of a fetched library are
// read once and hashed, and the scripts are kept in memory. So the scripts that
// run are the hashed bytes, even if the directory is changed meanwhile. The
// tempting alternative, to hash the archive and to run the unpacked files,
// would not notice an edited file.

// A tree has the files of a library. A local library, which the user edits, has
// no hash, and its files are read when they are needed.
type tree struct {
	dir     string
	local   bool
	scripts map[string][]byte // hashed scripts, by path with slashes
	hash    string
}

// readTree reads the directory of a library; prefix is path@version. skip reports
// directories of other libraries below it, which are left out.
func readTree(dir, prefix string, skip func(rel string) bool) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := &tree{dir: dir, scripts: map[string][]byte{}}
	var names []string
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && skip != nil && skip(p):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if names = append(names, prefix+"/"+p); len(names) > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		return nil
	})
	if err != nil {
		return nil, &diag.Error{Op: "read library", Subject: dir, Cause: diag.Reason(err)}
	}
	left := int64(maxZip)
	t.hash, err = dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		name = name[len(prefix)+1:]
		f, err := regular(root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, diag.Reason(err))
		}
		defer f.Close()
		b, err := readAll(f, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, diag.Reason(err))
		}
		left -= int64(len(b))
		if path.Ext(name) == ".star" {
			t.scripts[name] = b
		}
		return io.NopCloser(bytes.NewReader(b)), nil
	})
	if err != nil {
		return nil, &diag.Error{Op: "read library", Subject: dir, Cause: err}
	}
	return t, nil
}

// read returns the text of a script; shown is its name in messages.
func (t *tree) read(name, shown string) ([]byte, error) {
	if t.local {
		b, err := readRegular(filepath.Join(t.dir, filepath.FromSlash(name)), maxScript)
		if err == nil {
			return b, nil
		}
		if !os.IsNotExist(err) {
			return nil, (&diag.Error{Op: "load", Subject: shown, Cause: diag.Reason(err)}).
				WithHint("look at it: ls -l %s", filepath.Join(t.dir, name))
		}
	} else if b, ok := t.scripts[name]; ok {
		return b, nil
	}
	return nil, t.missing(name, shown)
}

// missing is the error for a script that does not exist; it lists the existing
// ones.
func (t *tree) missing(name, shown string) error {
	all := t.list()
	var beside []string // in the same directory
	for _, s := range all {
		if path.Dir(s) == path.Dir(name) {
			beside = append(beside, path.Base(s))
		}
	}
	near := diag.DidYouMean(path.Base(name), beside)
	if near == "" {
		for _, s := range all {
			if path.Base(s) == path.Base(name) {
				near = fmt.Sprintf(" (did you mean %s?)", s)
			}
		}
	}
	e := diag.Errorf(diag.Run, "load", shown, "no such file%s", near)
	if len(all) == 0 {
		return e.WithHint("the library has no scripts; ask for another version of it, or another library")
	}
	const shownAtMost = 20
	if n := len(all); n > shownAtMost {
		all = append(all[:shownAtMost:shownAtMost], fmt.Sprintf("and %d more", n-shownAtMost))
	}
	return e.WithHint("the library has: %s", strings.Join(all, " "))
}

// list returns the scripts, without tests.
func (t *tree) list() []string {
	var names []string
	if t.local {
		names = localScripts(t.dir)
	} else {
		for n := range t.scripts {
			names = append(names, n)
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, "_test.star") })
	slices.Sort(names)
	return names
}

// localScripts lists the .star files below a directory, except in vendor/,
// hidden directories and other libraries. Unreadable directories are left out,
// since the list is for hints and for tidy.
func localScripts(dir string) []string {
	var names []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir() && p != dir &&
			(d.Name() == vendorDir || strings.HasPrefix(d.Name(), ".") || isRoot(p)):
			return filepath.SkipDir
		case d.Type().IsRegular() && filepath.Ext(p) == ".star":
			if rel, err := filepath.Rel(dir, p); err == nil {
				names = append(names, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return names
}

// isRoot reports that a directory is the root of a library.
func isRoot(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, ModName))
	return err == nil && st.Mode().IsRegular()
}
