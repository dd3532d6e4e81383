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

	"ppscript/runtime/diag"
)

// A Library is the one that the user works in, with the versions of those
// that it needs. It is used by one goroutine.
type Library struct {
	Dir string // its root; "" outside of any library
	Mod *Mod   // nil outside

	store  *store
	sum    *Sum
	chosen *choice
	vendor bool // contents come from vendor/
}

// Open finds the library that dir lies in. Without one, libraries are found by
// full version only (path@version//file.star).
func Open(dir string, s Settings) (*Library, error) {
	root, err := findRoot(dir)
	if err != nil {
		return nil, err
	}
	l := &Library{Dir: root, sum: &Sum{lines: map[string]string{}}}
	if root == "" {
		l.store, err = newStore(s)
		return l, err
	}
	text, err := os.ReadFile(filepath.Join(root, ModName))
	if err != nil {
		return nil, &diag.Error{Op: "read", Subject: filepath.Join(root, ModName), Cause: err}
	}
	if l.Mod, err = ParseMod(filepath.Join(root, ModName), text); err != nil {
		return nil, err
	}
	if l.sum, err = readSum(filepath.Join(root, SumName)); err != nil {
		return nil, err
	}
	_, err = os.Stat(filepath.Join(root, vendorList))
	l.vendor = err == nil
	l.store, err = newStore(s)
	return l, err
}

// Close removes scratch files and writes new hashes to ppscript.sum.
func (l *Library) Close() error {
	err := l.store.close()
	if l.Dir != "" && l.sum.changed {
		err = errors.Join(err, write(filepath.Join(l.Dir, SumName), l.sum.format()))
		l.sum.changed = false
	}
	return err
}

// choose settles the versions, once.
func (l *Library) choose(ctx context.Context) (*choice, error) {
	if l.chosen != nil {
		return l.chosen, nil
	}
	var main []module.Version
	if l.Mod != nil {
		main = l.Mod.Requires
	}
	if l.vendor {
		c, err := l.vendored()
		l.chosen = c
		return c, err
	}
	c, err := choose(main, func(v module.Version) ([]module.Version, error) {
		m, err := l.store.mod(ctx, v, l.sum)
		if err != nil {
			return nil, err
		}
		return m.Requires, nil
	})
	l.chosen = c
	return c, err
}

// Resolve finds a file of a library, "path//file.star" or
// "path@version//file.star". The name that it returns has the version, and is
// what relative loads inside the library are based on.
func (l *Library) Resolve(ctx context.Context, name string) (full string, src []byte, err error) {
	lib, file, ok := strings.Cut(name, "//")
	if !ok || file == "" || !fs.ValidPath(file) {
		return "", nil, diag.Errorf(diag.Usage, "load", name, "not a file of a library").
			WithHint("write host/path//file.star")
	}
	if lib == "" || l.Mod != nil && lib == l.Mod.Path {
		if l.Dir == "" {
			return "", nil, diag.Errorf(diag.Usage, "load", name, "this file is in no library").WithHint("make one: ppscript mod init host/path")
		}
		full = filepath.ToSlash(filepath.Join(l.Dir, filepath.FromSlash(file)))
		src, err = readScript(filepath.Join(l.Dir, filepath.FromSlash(file)), name)
		return full, src, err
	}
	v, dir, err := l.locate(ctx, lib)
	if err != nil {
		return "", nil, err
	}
	src, err = readScript(filepath.Join(dir, filepath.FromSlash(file)), name)
	return v.Path + "@" + v.Version + "//" + path.Clean(file), src, err
}

// locate returns the version of a library and its directory.
func (l *Library) locate(ctx context.Context, lib string) (module.Version, string, error) {
	p, version, explicit := strings.Cut(lib, "@")
	v := module.Version{Path: p, Version: version}
	if explicit {
		if err := checkVersion(v); err != nil {
			return v, "", err
		}
	} else {
		c, err := l.choose(ctx)
		if err != nil {
			return v, "", err
		}
		found, ok := c.find(p)
		if !ok || found.Path != p {
			e := diag.Errorf(diag.Run, "library", p, "not required by %s", l.where())
			if l.Dir == "" {
				return v, "", e.WithHint("name a version: %s@v1.0.0//..., or make a library here: ppscript mod init", p)
			}
			return v, "", e.WithHint("add it: ppscript mod get %s@latest", p)
		}
		v = found
	}
	if l.vendor {
		dir := filepath.Join(l.Dir, vendorDir, filepath.FromSlash(v.Path))
		if _, err := os.Stat(dir); err != nil {
			return v, "", diag.Errorf(diag.Run, "library", v.Path, "not in vendor/").WithHint("copy it there: ppscript mod vendor")
		}
		return v, dir, nil
	}
	dir, err := l.store.dir(ctx, v, l.sum)
	return v, dir, err
}

func (l *Library) where() string {
	if l.Dir == "" {
		return "any " + ModName + " here"
	}
	return filepath.Join(l.Dir, ModName)
}

func readScript(name, shown string) ([]byte, error) {
	src, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		var names []string
		entries, _ := os.ReadDir(filepath.Dir(name))
		for _, e := range entries {
			if path.Ext(e.Name()) == ".star" {
				names = append(names, e.Name())
			}
		}
		e := &diag.Error{Op: "load", Subject: shown, Cause: errors.New("no such file" + diag.DidYouMean(filepath.Base(name), names))}
		return nil, e.WithHint("the library has: %s", strings.Join(names, " "))
	}
	if err != nil {
		return nil, &diag.Error{Op: "load", Subject: shown, Cause: err}
	}
	return src, nil
}
