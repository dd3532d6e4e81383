package library

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"ppscript/runtime/text/diag"
)

// Init makes dir a library.
func Init(dir, path string) error {
	if err := module.CheckPath(path); err != nil {
		return diag.Errorf(diag.Usage, "mod init", path, "not a library path").
			WithHint("write host/path, such as git.example.com/perf/lib")
	}
	name := filepath.Join(dir, ModName)
	if exists(name) {
		return diag.Errorf(diag.Usage, "mod init", dir, "there is a %s already", ModName).
			WithHint("edit it, or remove it first")
	}
	return write(name, []byte("module "+path+"\n"))
}

func (l *Library) need() error {
	if l.Mod == nil {
		return diag.Errorf(diag.Usage, "mod", "", "this directory is in no library").
			WithHint("make one: ppscript mod init host/path")
	}
	return nil
}

// chooseAnew chooses the versions again, ignoring vendor/ and earlier choices.
func (l *Library) chooseAnew(ctx context.Context) (*choice, error) {
	if err := l.need(); err != nil {
		return nil, err
	}
	l.vendored, l.chosen = nil, nil
	return l.choose(ctx)
}

// Get adds libraries, given as path@version or path@latest, or changes their
// versions. It returns the new requirements.
func (l *Library) Get(ctx context.Context, args []string) ([]module.Version, error) {
	if err := l.need(); err != nil {
		return nil, err
	}
	reqs := slices.Clone(l.Mod.Requires)
	for _, arg := range args {
		path, version, err := versionOf(arg)
		if err != nil {
			return nil, err
		}
		if version == "" || version == Latest {
			if version, err = l.store.latest(ctx, path); err != nil {
				return nil, err
			}
		}
		reqs = slices.DeleteFunc(reqs, func(r module.Version) bool { return r.Path == path })
		reqs = append(reqs, module.Version{Path: path, Version: version})
	}
	return reqs, l.require(ctx, reqs)
}

// require writes requirements, after all libraries that they need were found
// and pinned.
func (l *Library) require(ctx context.Context, reqs []module.Version) error {
	text, err := l.Mod.setRequires(reqs)
	if err != nil {
		return err
	}
	l.chosen, l.vendored, l.sum.fixed, l.sum.note = nil, nil, false, nil
	c, err := l.choose(ctx)
	if err != nil {
		return err
	}
	for _, v := range c.list() {
		if _, err := l.tree(ctx, v); err != nil {
			return err
		}
	}
	return write(filepath.Join(l.Dir, ModName), text)
}

// loads finds the libraries in load statements. It does not parse the files:
// text that only looks like a load just adds a requirement.
var loads = regexp.MustCompile(`(?m)^\s*load\(\s*["']([^"'@/][^"'@]*?)(?:@[^"'/]*)?//`)

// Tidy changes the requirements to the libraries that the files load; new ones
// get their latest version. It returns the added and the removed libraries.
func (l *Library) Tidy(ctx context.Context) (added, dropped []module.Version, err error) {
	if err := l.need(); err != nil {
		return nil, nil, err
	}
	used := map[string]bool{}
	for _, name := range localScripts(l.Dir) {
		src, err := readRegular(filepath.Join(l.Dir, name), maxScript)
		if err != nil {
			return nil, nil, &diag.Error{Op: "read", Subject: name, Cause: diag.Reason(err)}
		}
		for _, m := range loads.FindAllSubmatch(src, -1) {
			if path := string(m[1]); path != l.Mod.Path {
				used[path] = true
			}
		}
	}
	var reqs []module.Version
	for _, r := range l.Mod.Requires {
		if used[r.Path] {
			reqs = append(reqs, r)
			delete(used, r.Path)
		} else {
			dropped = append(dropped, r)
		}
	}
	for path := range used {
		version, err := l.newest(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		if version != "" {
			added = append(added, module.Version{Path: path, Version: version})
		}
	}
	slices.SortFunc(added, func(a, b module.Version) int { return strings.Compare(a.Path, b.Path) })
	if err := l.require(ctx, append(reqs, added...)); err != nil {
		return nil, nil, err
	}
	return added, dropped, l.prune(ctx)
}

// newest is the version to require for a loaded library; "" for a library of
// the workspace without a version.
func (l *Library) newest(ctx context.Context, path string) (string, error) {
	for _, r := range l.replaces {
		if r.Old.Path == path && r.New.Version == "" {
			return cmp.Or(r.Old.Version, "v0.0.0"), nil
		}
	}
	version, err := l.store.latest(ctx, path)
	if err != nil && l.work.dir(path) != "" {
		return "", nil
	}
	return version, err
}

// prune removes the hashes of versions that are not needed.
func (l *Library) prune(ctx context.Context) error {
	old := l.sum
	l.sum = &sum{path: old.path, lines: map[string]string{}, changed: true}
	keep := func(v module.Version, key func(module.Version) string) {
		for _, v := range []module.Version{v, l.replaced(v)} {
			if h, ok := old.lines[key(v)]; ok {
				l.sum.lines[key(v)] = h
			}
		}
	}
	for v := range l.chosen.requests {
		keep(v, modKey)
	}
	for _, v := range l.chosen.list() {
		keep(v, zipKey)
	}
	for key, h := range old.lines {
		if strings.HasSuffix(key, vendorKey) {
			l.sum.lines[key] = h
		}
	}
	return nil
}

// Verify checks all needed libraries, in vendor/ and in the cache, against
// ppscript.sum and returns the number of checked libraries. It pins nothing.
func (l *Library) Verify(ctx context.Context) (int, error) {
	if err := l.need(); err != nil {
		return 0, err
	}
	l.sum.fixed = true
	c, err := l.choose(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, v := range c.list() {
		if _, err := l.tree(ctx, v); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := l.verifyCached(ctx, v); err != nil {
			errs = append(errs, err)
		}
	}
	return len(c.list()), errors.Join(errs...)
}

// verifyCached checks the files of a version in the cache; with vendor/ they
// may be missing.
func (l *Library) verifyCached(ctx context.Context, v module.Version) error {
	if l.local(v) != "" {
		return nil
	}
	v = l.replaced(v)
	zipName, err := l.store.file(v, ".zip")
	if err != nil {
		return err
	}
	dir, err := l.store.place(v)
	if err != nil {
		return err
	}
	if exists(zipName) {
		err = l.store.checkZip(v, zipName, l.sum)
	}
	if exists(dir) {
		_, e := l.store.tree(ctx, v, l.sum)
		err = errors.Join(err, e)
	}
	return err
}

// Why explains why a library is needed: the chain of libraries that require it.
func (l *Library) Why(ctx context.Context, path string) ([]module.Version, error) {
	c, err := l.chooseAnew(ctx)
	if err != nil {
		return nil, err
	}
	version, ok := c.version[path]
	if !ok {
		var names []string
		for p := range c.version {
			names = append(names, p)
		}
		return nil, diag.Errorf(diag.Usage, "mod why", path, "not needed%s", diag.DidYouMean(path, names)).
			WithHint("list what is: ppscript mod list")
	}
	return c.why(module.Version{Path: path, Version: version}), nil
}

// List returns the chosen versions.
func (l *Library) List(ctx context.Context) ([]module.Version, error) {
	if err := l.need(); err != nil {
		return nil, err
	}
	c, err := l.choose(ctx)
	if err != nil {
		return nil, err
	}
	return c.list(), nil
}
