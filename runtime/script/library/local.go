package library

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"ppscript/runtime/text/diag"
)

// This file finds libraries in local directories of the user: libraries of a
// workspace, which are edited together, and replacements of other libraries.

// workName is the name of the file that defines a workspace.
const workName = "ppscript.work"

// local is the version of the libraries of a workspace, which have no version
// yet.
const local = "v0.0.0-workspace"

// A workspace is the content of a ppscript.work: the libraries in some
// directories are used from there, in place of any required version.
type workspace struct {
	dirs     map[string]string // by the path of the library
	requires []module.Version  // requirements of all libraries
	replaces []replace
}

// openWork reads the ppscript.work in dir or above; nil if there is none, or if
// it does not list the library at root.
func openWork(dir, root string) (*workspace, error) {
	at, err := findUp(dir, workName)
	if at == "" || err != nil {
		return nil, err
	}
	f, err := readWork(filepath.Join(at, workName))
	if err != nil {
		return nil, err
	}
	w := &workspace{dirs: map[string]string{}, replaces: absolute(replaces(f.Replace), at)}
	member := root == ""
	for _, use := range f.Use {
		d := use.Path
		if !filepath.IsAbs(d) {
			d = filepath.Join(at, filepath.FromSlash(d))
		}
		m, err := readMod(d)
		if err != nil {
			return nil, err
		}
		if other, ok := w.dirs[m.Path]; ok {
			return nil, diag.Errorf(diag.Usage, "read", filepath.Join(at, workName), "%s and %s are both %s",
				other, d, m.Path).
				WithHint("remove one of the two lines")
		}
		w.dirs[m.Path] = d
		w.requires = append(w.requires, m.Requires...)
		member = member || d == root
	}
	if !member {
		return nil, nil
	}
	w.requires = slices.DeleteFunc(w.requires, func(v module.Version) bool { return w.dirs[v.Path] != "" })
	return w, nil
}

var workLines = []string{"use", "replace"}

const workExample = "write it as: use ./base, one line for each library"

func readWork(name string) (*modfile.WorkFile, error) {
	text, err := readRegular(name, maxMod)
	if err != nil {
		return nil, (&diag.Error{Op: "read", Subject: name, Cause: diag.Reason(err)}).
			WithHint("look at it: ls -l %s", name)
	}
	f, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return nil, wrongLine(name, text, err, workLines, workExample)
	}
	return f, onlyLines(f.Syntax, text, workLines)
}

// dir is the directory of a library of the workspace; "" for other libraries.
func (w *workspace) dir(path string) string {
	if w == nil {
		return ""
	}
	return w.dirs[path]
}

// absolute makes the directories of replacements absolute; in the file they are
// relative to root.
func absolute(list []replace, dir string) []replace {
	out := slices.Clone(list)
	for i := range out {
		if n := &out[i].New; n.Version == "" && !filepath.IsAbs(n.Path) {
			n.Path = filepath.Join(dir, filepath.FromSlash(n.Path))
		}
	}
	return out
}

// replaced returns the replacement of a required version, or the version
// itself. A replace line for this version has precedence over one for all
// versions.
func (l *Library) replaced(v module.Version) module.Version {
	for _, version := range []string{v.Version, ""} {
		for _, r := range l.replaces {
			if r.Old.Path == v.Path && r.Old.Version == version {
				return r.New
			}
		}
	}
	return v
}

// local returns the local directory for a version; "" for a version that is
// fetched.
func (l *Library) local(v module.Version) string {
	if dir := l.work.dir(v.Path); dir != "" {
		return dir
	}
	if r := l.replaced(v); r.Version == "" {
		return r.Path
	}
	return ""
}

// Work makes dir a workspace of the libraries in some directories, or adds them
// to it. It returns all directories of the workspace.
func Work(dir string, libraries []string) ([]string, error) {
	name := filepath.Join(dir, workName)
	f, err := &modfile.WorkFile{Syntax: &modfile.FileSyntax{Name: name}}, error(nil)
	if exists(name) {
		if f, err = readWork(name); err != nil {
			return nil, err
		}
	}
	for _, lib := range libraries {
		m, err := readMod(filepath.Join(dir, lib))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, diag.Errorf(diag.Usage, "mod work", lib, "no library: it has no %s", ModName).
				WithHint("make it one: cd %s; ppscript mod init host/path", lib)
		}
		if err != nil {
			return nil, err
		}
		at := filepath.ToSlash(filepath.Clean(lib))
		if !filepath.IsAbs(lib) && !strings.HasPrefix(at, "..") && at != "." {
			at = "./" + at
		}
		if err := f.AddUse(at, m.Path); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	f.SortBlocks()
	f.Cleanup()
	var used []string
	for _, u := range f.Use {
		used = append(used, u.Path)
	}
	return used, write(name, modfile.Format(f.Syntax))
}

// Dirs lists the libraries of the workspace, "path dir", sorted.
func (l *Library) Dirs() []string {
	if l.work == nil {
		return nil
	}
	var list []string
	wd, _ := os.Getwd()
	for p, d := range l.work.dirs {
		if rel, err := filepath.Rel(wd, d); err == nil {
			d = rel
		}
		list = append(list, p+" "+d)
	}
	slices.Sort(list)
	return list
}

// Edited reports that a file of a library, LIBRARY@VERSION//FILE, is in a local directory and may
// be edited; fetched files do not change.
func Edited(name string) bool { return strings.Contains(name, "@"+local+"//") }
