package library

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"ppscript/runtime/text/diag"
)

// This file manages vendor/: copies of all libraries that a library needs,
// which are used instead of the cache. vendor/modules.txt lists their versions.
// They are checked against ppscript.sum like libraries in the cache.

// vendorTree is a vendor/ directory.
type vendorTree struct {
	root  string
	list  []module.Version
	local map[module.Version]bool // versions that are copies of a local directory
	trees map[module.Version]*tree
}

// localMark marks such a copy in modules.txt, after its version.
const localMark = " => ."

// vendorKey is the suffix of such a copy's key in ppscript.sum.
const vendorKey = "=>vendor"

func newVendored(dir string) *vendorTree {
	return &vendorTree{root: filepath.Join(dir, vendorDir), local: map[module.Version]bool{},
		trees: map[module.Version]*tree{}}
}

// openVendor reads vendor/modules.txt; nil if there is none.
func openVendor(dir string) (*vendorTree, error) {
	name := filepath.Join(dir, vendorList)
	b, err := readRegular(name, maxMod)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, (&diag.Error{Op: "read", Subject: name, Cause: diag.Reason(err)}).
			WithHint("make it again: ppscript mod vendor")
	}
	vd := newVendored(dir)
	n := 0
	for line := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n") {
		n++
		line, isLocal := strings.CutSuffix(line, localMark)
		path, version, _ := strings.Cut(line, " ")
		v := module.Version{Path: path, Version: version}
		if line == "" {
			continue
		}
		if err := checkVersion(v); err != nil || vd.version(path) != "" {
			return nil, diag.Errorf(diag.Usage, "read", fmt.Sprintf("%s:%d", name, n),
				"want: path version, once for each").
				WithHint("make it again: ppscript mod vendor")
		}
		vd.list = append(vd.list, v)
		vd.local[v] = isLocal
	}
	return vd, nil
}

// version is the version of a library in vendor/; "" if it is not there.
func (vd *vendorTree) version(path string) string {
	for _, v := range vd.list {
		if v.Path == path {
			return v.Version
		}
	}
	return ""
}

// choice returns the versions in vendor/, if they are exactly the ones that the
// library requires.
func (vd *vendorTree) choice(m *Mod) (*choice, error) {
	c := &choice{version: map[string]string{}, requests: map[module.Version][]module.Version{}}
	for _, v := range vd.list {
		c.version[v.Path] = v.Version
	}
	for _, r := range m.Requires {
		if have := c.version[r.Path]; have == "" || semver.Compare(have, r.Version) < 0 {
			return nil, diag.Errorf(diag.Run, "library", r.Path, "vendor/ has %s, %s requires %s",
				orNone(have), ModName, r.Version).
				WithHint("copy it again: ppscript mod vendor")
		}
	}
	return c, nil
}

func orNone(v string) string {
	if v == "" {
		return "none of it"
	}
	return v
}

// tree returns the checked files of a version in vendor/.
func (vd *vendorTree) tree(v module.Version, st *store, sum *sum) (*tree, error) {
	if t := vd.trees[v]; t != nil {
		return t, nil
	}
	dir := filepath.Join(vd.root, filepath.FromSlash(v.Path))
	if !exists(dir) {
		return nil, diag.Errorf(diag.Run, "library", v.Path, "not in vendor/").
			WithHint("copy it there: ppscript mod vendor")
	}
	t, err := readTree(dir, v.Path+"@"+v.Version, vd.others(v.Path))
	if err != nil {
		return nil, (&diag.Error{Op: "library", Subject: v.Path + "@" + v.Version, Cause: err}).
			WithHint("copy it again: ppscript mod vendor")
	}
	if st.pinned(v.Path) {
		key := vd.key(v)
		if want, ok := sum.lines[key]; ok && want != t.hash {
			return nil, diag.Errorf(diag.Run, "verify", key, "files in %s were changed: got %s, pinned is %s",
				dir, t.hash, want).
				WithHint("copy them again: ppscript mod vendor")
		}
		if err := sum.check(key, t.hash); err != nil {
			return nil, err
		}
	}
	vd.trees[v] = t
	return t, nil
}

// key is the key of a version in ppscript.sum. A copy of a directory differs
// from the published version, and has a key of its own.
func (vd *vendorTree) key(v module.Version) string {
	if vd.local[v] {
		return zipKey(v) + vendorKey
	}
	return zipKey(v)
}

// others returns the function that reports directories of other libraries below
// a library.
func (vd *vendorTree) others(path string) func(rel string) bool {
	return func(rel string) bool {
		return slices.ContainsFunc(vd.list, func(v module.Version) bool { return v.Path == path+"/"+rel })
	}
}

// Vendor copies all needed libraries into vendor/.
func (l *Library) Vendor(ctx context.Context) ([]module.Version, error) {
	if l.work != nil {
		return nil, diag.Errorf(diag.Usage, "mod vendor", "",
			"this library is in a workspace, whose libraries have no version").
			WithHint("leave the workspace out: PPSCRIPTWORK=off ppscript mod vendor")
	}
	c, err := l.chooseAnew(ctx)
	if err != nil {
		return nil, err
	}
	l.sum.fixed, l.sum.note = false, nil
	root := filepath.Join(l.Dir, vendorDir)
	vd := newVendored(l.Dir)
	vd.list = c.list()
	sources := map[module.Version]string{}
	for _, v := range vd.list {
		t, err := l.tree(ctx, v)
		if err != nil {
			return nil, err
		}
		sources[v], vd.local[v] = t.dir, t.local
	}
	if err := os.RemoveAll(root); err != nil {
		return nil, err
	}
	var list strings.Builder
	for _, v := range vd.list {
		if err := copyTree(filepath.Join(root, filepath.FromSlash(v.Path)), sources[v],
			vd.local[v]); err != nil {
			return nil, err
		}
		line := v.Path + " " + v.Version
		if vd.local[v] {
			line += localMark
			delete(l.sum.lines, vd.key(v)) // the directory may have changed since the last copy
		}
		list.WriteString(line + "\n")
	}
	for _, v := range vd.list {
		if _, err := vd.tree(v, l.store, l.sum); err != nil {
			return nil, err
		}
	}
	return vd.list, write(filepath.Join(l.Dir, vendorList), []byte(list.String()))
}

// copyTree copies the regular files of a directory. From a local directory,
// git's files and other libraries are left out.
func copyTree(to, from string, local bool) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		switch {
		case local && d.IsDir() && p != from && (strings.HasPrefix(d.Name(), ".git") || isRoot(p)):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := readRegular(p, maxZip)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
}
