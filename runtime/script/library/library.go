package library

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"

	"ppscript/runtime/text/diag"
)

// A Library is the library of the working directory, with the versions of the
// libraries that it needs. It is used by one goroutine.
type Library struct {
	Dir string // its root; "" outside of any library
	Mod *Mod   // nil outside of a library

	settings Settings
	store    *store
	sum      *sum
	own      *sum // the user's own ppscript.sum; nil until it is needed
	work     *workspace
	replaces []replace // replacements of the library or its workspace; directories are absolute
	chosen   *choice
	vendored *vendorTree // nil: contents do not come from vendor/
	trees    map[string]*tree
}

// Open finds the library that contains dir. Without one, libraries can be used
// only with their version (path@version//file.star).
func Open(dir string, s Settings) (*Library, error) {
	root, err := findUp(dir, ModName)
	if err != nil {
		return nil, err
	}
	l := &Library{Dir: root, settings: s, sum: &sum{lines: map[string]string{}}, trees: map[string]*tree{}}
	if l.store, err = newStore(s); err != nil {
		return nil, err
	}
	if !s.NoWork {
		if l.work, err = openWork(dir, root); err != nil {
			return nil, err
		}
	}
	if l.work != nil {
		l.replaces = l.work.replaces
	}
	if root == "" {
		return l, nil
	}
	if l.Mod, err = readMod(root); err != nil {
		return nil, err
	}
	l.replaces = append(l.replaces, absolute(l.Mod.Replaces, root)...)
	if l.sum, err = readSum(filepath.Join(root, SumName)); err != nil {
		return nil, err
	}
	l.sum.fixed, l.sum.note = !s.Pin, s.Note
	if l.work == nil {
		l.vendored, err = openVendor(root)
	}
	return l, err
}

// readMod reads the ppscript.mod of a directory.
func readMod(dir string) (*Mod, error) {
	name := filepath.Join(dir, ModName)
	text, err := readRegular(name, maxMod)
	if err != nil {
		return nil, (&diag.Error{Op: "read", Subject: name, Cause: diag.Reason(err)}).
			WithHint("look at it: ls -l %s", name)
	}
	return parseMod(name, text)
}

// Close removes scratch files and writes new hashes.
func (l *Library) Close() error {
	err := errors.Join(l.store.close(), l.sum.save())
	if l.own != nil {
		// Without a directory for settings, nothing is pinned.
		if e := l.own.merge(); e != nil && !errors.Is(e, fs.ErrPermission) && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// choose chooses the versions, once.
func (l *Library) choose(ctx context.Context) (*choice, error) {
	if l.chosen != nil {
		return l.chosen, nil
	}
	var main []module.Version
	if l.Mod != nil {
		main = l.Mod.Requires
	}
	if l.vendored != nil {
		c, err := l.vendored.choice(l.Mod)
		l.chosen = c
		return c, err
	}
	if l.work != nil {
		main = append(main[:len(main):len(main)], l.work.requires...)
	}
	c, err := choose(main, func(v module.Version) ([]module.Version, error) {
		m, err := l.modOf(ctx, v)
		if err != nil {
			return nil, err
		}
		return m.Requires, nil
	})
	l.chosen = c
	return c, err
}

// modOf returns the ppscript.mod of a version, or of its replacement.
func (l *Library) modOf(ctx context.Context, v module.Version) (*Mod, error) {
	if dir := l.local(v); dir != "" {
		return readMod(dir)
	}
	real := l.replaced(v)
	return l.store.mod(ctx, real, l.sum, real != v)
}

// Resolve finds a file of a library, "path//file.star" or
// "path@version//file.star". The returned name includes the version, and is the
// base of relative loads inside the library.
func (l *Library) Resolve(ctx context.Context, name string) (full string, src []byte, err error) {
	lib, file, ok := strings.Cut(name, "//")
	if !ok || file == "" || !fs.ValidPath(file) {
		return "", nil, diag.Errorf(diag.Usage, "load", name, "not a file of a library").
			WithHint("write host/path//file.star")
	}
	if lib == "" || l.Mod != nil && lib == l.Mod.Path {
		if l.Dir == "" {
			return "", nil, diag.Errorf(diag.Usage, "load", name, "this file is in no library").
				WithHint("make one: ppscript mod init host/path")
		}
		full = filepath.ToSlash(filepath.Join(l.Dir, filepath.FromSlash(file)))
		src, err = (&tree{dir: l.Dir, local: true}).read(file, name)
		return full, src, err
	}
	v, t, err := l.locate(ctx, lib)
	if err != nil {
		return "", nil, err
	}
	src, err = t.read(file, name)
	return v.Path + "@" + v.Version + "//" + path.Clean(file), src, err
}

// Latest is the version that path@latest means now.
const Latest = "latest"

// locate returns the version of a library and its files.
func (l *Library) locate(ctx context.Context, lib string) (module.Version, *tree, error) {
	p, version, explicit := strings.Cut(lib, "@")
	v := module.Version{Path: p, Version: version}
	if dir := l.work.dir(p); dir != "" && (!explicit || version == local || version == Latest) {
		return module.Version{Path: p, Version: local}, &tree{dir: dir, local: true}, nil
	}
	switch {
	case explicit && version == Latest:
		if err := module.CheckPath(p); err != nil {
			return v, nil, checkVersion(v)
		}
		latest, err := l.store.latest(ctx, p)
		if err != nil {
			return v, nil, err
		}
		v.Version = latest
	case explicit:
		if err := checkVersion(v); err != nil {
			return v, nil, err
		}
	default:
		c, err := l.choose(ctx)
		if err != nil {
			return v, nil, err
		}
		found, ok := c.find(p)
		if !ok || found.Path != p {
			e := diag.Errorf(diag.Run, "library", p, "not required by %s", l.where())
			if l.Dir == "" {
				return v, nil, e.WithHint("name a version: %s@v1.0.0//... or %[1]s@latest//..., "+
					"or make a library here: ppscript mod init", p)
			}
			return v, nil, e.WithHint("add it: ppscript mod get %s@latest", p)
		}
		v = found
	}
	t, err := l.tree(ctx, v)
	return v, t, err
}

// tree returns the checked files of a version, from vendor/, a local directory
// or the cache.
func (l *Library) tree(ctx context.Context, v module.Version) (*tree, error) {
	// vendor/ has one version of a library. If a script names another version, that
	// one is fetched.
	if l.vendored != nil && l.vendored.version(v.Path) == v.Version {
		return l.vendored.tree(v, l.store, l.sum)
	}
	if dir := l.local(v); dir != "" {
		return &tree{dir: dir, local: true}, nil
	}
	v = l.replaced(v)
	sum, err := l.sumOf(v)
	if err != nil {
		return nil, err
	}
	return l.store.tree(ctx, v, sum)
}

// sumOf returns the file in which a version is pinned: the library's
// ppscript.sum for versions that it needs, the user's own for others that the
// user named.
func (l *Library) sumOf(v module.Version) (*sum, error) {
	needed := l.chosen != nil && l.chosen.has(v, l.replaced)
	if l.Dir != "" && (needed || l.sum.has(zipKey(v))) {
		return l.sum, nil
	}
	if l.own == nil {
		own, err := readSum(l.settings.Own)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		if err != nil {
			own = &sum{path: l.settings.Own, lines: map[string]string{}}
		}
		l.own = own
	}
	return l.own, nil
}

func (l *Library) where() string {
	if l.Dir == "" {
		return "any " + ModName + " here"
	}
	return filepath.Join(l.Dir, ModName)
}

// exists reports that a file exists.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
