package library

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"ppscript/runtime/diag"
)

// Init makes dir a library.
func Init(dir, path string) error {
	if err := module.CheckPath(path); err != nil {
		return diag.Errorf(diag.Usage, "mod init", path, "not a library path").WithHint("write host/path, such as git.example.com/perf/lib")
	}
	name := filepath.Join(dir, ModName)
	if _, err := os.Stat(name); err == nil {
		return diag.Errorf(diag.Usage, "mod init", dir, "there is a %s already", ModName).WithHint("edit it, or remove it first")
	}
	return write(name, []byte("module "+path+"\n"))
}

func (l *Library) need() error {
	if l.Mod == nil {
		return diag.Errorf(diag.Usage, "mod", "", "this directory is in no library").WithHint("make one: ppscript mod init host/path")
	}
	return nil
}

// chooseAnew settles the versions without what vendor/ holds or was settled
// before.
func (l *Library) chooseAnew(ctx context.Context) (*choice, error) {
	if err := l.need(); err != nil {
		return nil, err
	}
	l.vendor, l.chosen = false, nil
	return l.choose(ctx)
}

// Get adds libraries, path@version or path@latest, or changes their versions.
// It returns what is required now.
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
		if version == "" || version == "latest" {
			if version, err = l.store.latest(ctx, path); err != nil {
				return nil, err
			}
		}
		v := module.Version{Path: path, Version: version}
		if _, err := l.store.dir(ctx, v, l.sum); err != nil {
			return nil, err
		}
		reqs = slices.DeleteFunc(reqs, func(r module.Version) bool { return r.Path == path })
		reqs = append(reqs, v)
	}
	return reqs, l.require(ctx, reqs)
}

// require writes requirements, after they were found to be complete.
func (l *Library) require(ctx context.Context, reqs []module.Version) error {
	text, err := l.Mod.setRequires(reqs)
	if err != nil {
		return err
	}
	l.chosen, l.vendor = nil, false
	if _, err := l.choose(ctx); err != nil {
		return err
	}
	return write(filepath.Join(l.Dir, ModName), text)
}

// loads finds the libraries that load statements name. A full parse is not
// needed: what only looks like a load costs a requirement, nothing else.
var loads = regexp.MustCompile(`(?m)^\s*load\(\s*["']([^"'@/][^"'@]*?)(?:@[^"'/]*)?//`)

// Tidy requires what the library's files load and nothing else; what is new
// comes in its latest version. It returns what was added and dropped.
func (l *Library) Tidy(ctx context.Context) (added, dropped []module.Version, err error) {
	if err := l.need(); err != nil {
		return nil, nil, err
	}
	used := map[string]bool{}
	err = filepath.WalkDir(l.Dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == vendorDir || strings.HasPrefix(d.Name(), ".") && p != l.Dir):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(p) != ".star":
			return nil
		}
		src, err := os.ReadFile(p)
		for _, m := range loads.FindAllSubmatch(src, -1) {
			if path := string(m[1]); path != l.Mod.Path {
				used[path] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, nil, err
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
		version, err := l.store.latest(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		added = append(added, module.Version{Path: path, Version: version})
	}
	if err := l.require(ctx, append(reqs, added...)); err != nil {
		return nil, nil, err
	}
	return added, dropped, l.prune(ctx)
}

// prune fetches everything chosen, and keeps the hashes of nothing else.
func (l *Library) prune(ctx context.Context) error {
	old := l.sum
	l.sum = &Sum{lines: map[string]string{}, changed: true}
	keep := func(key string) {
		if h, ok := old.lines[key]; ok {
			l.sum.lines[key] = h
		}
	}
	for v := range l.chosen.asked {
		keep(modKey(v))
	}
	for _, v := range l.chosen.list() {
		keep(zipKey(v))
		if _, err := l.store.dir(ctx, v, l.sum); err != nil {
			return err
		}
	}
	return nil
}

// Vendor copies everything needed into vendor/.
func (l *Library) Vendor(ctx context.Context) ([]module.Version, error) {
	c, err := l.chooseAnew(ctx)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(l.Dir, vendorDir)
	if err := os.RemoveAll(root); err != nil {
		return nil, err
	}
	var list strings.Builder
	for _, v := range c.list() {
		dir, err := l.store.dir(ctx, v, l.sum)
		if err != nil {
			return nil, err
		}
		if err := copyTree(filepath.Join(root, filepath.FromSlash(v.Path)), dir); err != nil {
			return nil, err
		}
		fmt.Fprintf(&list, "%s %s\n", v.Path, v.Version)
	}
	return c.list(), write(filepath.Join(l.Dir, vendorList), []byte(list.String()))
}

func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
}

// vendored reads the versions in vendor/.
func (l *Library) vendored() (*choice, error) {
	b, err := os.ReadFile(filepath.Join(l.Dir, vendorList))
	if err != nil {
		return nil, &diag.Error{Op: "read", Subject: vendorList, Cause: err}
	}
	c := &choice{version: map[string]string{}, asked: map[module.Version][]module.Version{}}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if path, version, ok := strings.Cut(line, " "); ok {
			c.version[path] = version
		}
	}
	for _, r := range l.Mod.Requires {
		if have := c.version[r.Path]; have == "" || semver.Compare(have, r.Version) < 0 {
			return nil, diag.Errorf(diag.Run, "library", r.Path, "vendor/ has %s, %s requires %s", orNone(have), ModName, r.Version).
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

// Verify checks everything in the cache against ppscript.sum and returns how
// many libraries it checked.
func (l *Library) Verify(ctx context.Context) (int, error) {
	c, err := l.chooseAnew(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, v := range c.list() {
		if _, pinned := l.sum.lines[zipKey(v)]; !pinned && l.store.pinned(v.Path) {
			errs = append(errs, diag.Errorf(diag.Run, "verify", v.Path+"@"+v.Version, "not in %s", SumName).WithHint("pin it: ppscript mod tidy"))
			continue
		}
		if _, err := l.store.dir(ctx, v, l.sum); err != nil {
			errs = append(errs, err)
		}
	}
	return len(c.list()), errors.Join(errs...)
}

// Why explains why a library is needed: the chain of those that ask for it.
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
			WithHint("list what is: ppscript mod why")
	}
	return c.why(module.Version{Path: path, Version: version}), nil
}

// List is the chosen versions.
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
