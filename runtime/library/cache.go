package library

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"

	"ppscript/runtime/diag"
)

// Settings are the user's, from the environment.
type Settings struct {
	// Cache is where libraries are kept: PPSCRIPTCACHE, else ppscript/mod in
	// the user's cache directory.
	Cache string
	// Proxy is PPSCRIPTPROXY.
	Proxy string
	// NoSum lists patterns of libraries that are not pinned: PPSCRIPTNOSUM,
	// for those of one's own that still move.
	NoSum string
}

// SettingsFrom reads the settings of an environment.
func SettingsFrom(getenv func(string) string) (Settings, error) {
	s := Settings{Cache: getenv("PPSCRIPTCACHE"), Proxy: getenv("PPSCRIPTPROXY"), NoSum: getenv("PPSCRIPTNOSUM")}
	if s.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return s, (&diag.Error{Op: "find", Subject: "cache directory", Cause: err}).WithHint("set PPSCRIPTCACHE")
		}
		s.Cache = filepath.Join(dir, "ppscript", "mod")
	}
	return s, nil
}

// A store is the cache with what fills it.
type store struct {
	settings Settings
	from     []fetcher
	mods     map[module.Version]*Mod
	scratch  string
}

func newStore(s Settings) (*store, error) {
	st := &store{settings: s, mods: map[module.Version]*Mod{}}
	if err := os.MkdirAll(s.Cache, 0o755); err != nil {
		return nil, (&diag.Error{Op: "make", Subject: s.Cache, Cause: err}).WithHint("set PPSCRIPTCACHE to a directory that can be written")
	}
	var err error
	if st.scratch, err = os.MkdirTemp(s.Cache, "tmp-"); err != nil {
		return nil, (&diag.Error{Op: "write", Subject: s.Cache, Cause: err}).WithHint("set PPSCRIPTCACHE to a directory that can be written")
	}
	st.from, err = fetchers(s.Proxy, st.scratch)
	if err != nil {
		os.RemoveAll(st.scratch)
		return nil, err
	}
	return st, nil
}

func (st *store) close() error { return os.RemoveAll(st.scratch) }

// file is the path of a downloaded file of a version.
func (st *store) file(v module.Version, ext string) (string, error) {
	path, err := module.EscapePath(v.Path)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(v.Version)
	return filepath.Join(st.settings.Cache, "download", filepath.FromSlash(path), "@v", version+ext), err
}

// pinned reports that a library is checked against ppscript.sum.
func (st *store) pinned(path string) bool {
	return !module.MatchPrefixPatterns(st.settings.NoSum, path)
}

// each asks the fetchers in turn.
func (st *store) each(v module.Version, ask func(f fetcher) error) error {
	err := errAbsent
	for _, f := range st.from {
		if err = ask(f); err == nil || !errors.Is(err, errAbsent) {
			break
		}
	}
	if err == nil {
		return nil
	}
	name := v.Path
	if v.Version != "" {
		name += "@" + v.Version
	}
	e := &diag.Error{Op: "fetch library", Subject: name, Cause: err}
	if errors.Is(err, errAbsent) {
		return e.WithHint("list its versions: git ls-remote --tags https://%s", v.Path)
	}
	return e.WithHint("check the path and the network, or name another source: PPSCRIPTPROXY")
}

// mod returns the ppscript.mod of a version.
func (st *store) mod(ctx context.Context, v module.Version, sum *Sum) (*Mod, error) {
	if m := st.mods[v]; m != nil {
		return m, nil
	}
	if err := checkVersion(v); err != nil {
		return nil, err
	}
	name, err := st.file(v, ".mod")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		err = st.each(v, func(f fetcher) error {
			var err error
			text, err = f.mod(ctx, v)
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := write(name, text); err != nil {
			return nil, err
		}
	}
	if st.pinned(v.Path) {
		hash, err := hashMod(text)
		if err != nil {
			return nil, err
		}
		if err := sum.check(modKey(v), hash); err != nil {
			return nil, err
		}
	}
	m, err := ParseMod(v.Path+"@"+v.Version+"/"+ModName, text)
	if err != nil {
		return nil, err
	}
	if m.Path != v.Path {
		return nil, diag.Errorf(diag.Run, "library", v.Path+"@"+v.Version, "its %s says that it is %s", ModName, m.Path).
			WithHint("require it as %s", m.Path)
	}
	st.mods[v] = m
	return m, nil
}

// dir returns the directory with the contents of a version, read-only.
func (st *store) dir(ctx context.Context, v module.Version, sum *Sum) (string, error) {
	zipName, err := st.file(v, ".zip")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(zipName); err != nil {
		if err := st.download(ctx, v, zipName); err != nil {
			return "", err
		}
	}
	if st.pinned(v.Path) {
		hash, err := dirhash.HashZip(zipName, dirhash.Hash1)
		if err != nil {
			return "", &diag.Error{Op: "read", Subject: zipName, Cause: err, Hint: "remove the file: it is fetched again"}
		}
		if err := sum.check(zipKey(v), hash); err != nil {
			return "", err
		}
	}
	escaped, err := module.EscapePath(v.Path)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(st.settings.Cache, filepath.FromSlash(escaped)+"@"+v.Version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	// Unpacked beside its place and renamed: what is there is whole.
	tmp := filepath.Join(st.scratch, "unzip")
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := modzip.Unzip(tmp, v, zipName); err != nil {
		return "", &diag.Error{Op: "unpack", Subject: v.Path + "@" + v.Version, Cause: err}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, readOnly(dir)
}

// readOnly takes the right to write from everything below dir.
func readOnly(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			dirs = append(dirs, p)
			return nil
		}
		return os.Chmod(p, 0o444)
	})
	for _, d := range slices.Backward(dirs) {
		err = errors.Join(err, os.Chmod(d, 0o555))
	}
	return err
}

func (st *store) download(ctx context.Context, v module.Version, name string) error {
	tmp, err := os.CreateTemp(st.scratch, "zip-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = st.each(v, func(f fetcher) error {
		if err := tmp.Truncate(0); err != nil {
			return err
		}
		if _, err := tmp.Seek(0, 0); err != nil {
			return err
		}
		return f.zip(ctx, v, tmp)
	})
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(tmp.Name(), 0o444); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}

// latest is the highest version of a library, releases before others.
func (st *store) latest(ctx context.Context, path string) (string, error) {
	var vs []string
	err := st.each(module.Version{Path: path}, func(f fetcher) error {
		var err error
		vs, err = f.versions(ctx, path)
		if err == nil && len(vs) == 0 {
			return errAbsent
		}
		return err
	})
	if err != nil {
		return "", err
	}
	best := ""
	for _, v := range vs {
		if best == "" || better(v, best) {
			best = v
		}
	}
	return best, nil
}

// better prefers releases, then higher versions.
func better(a, b string) bool {
	if ra, rb := semver.Prerelease(a) == "", semver.Prerelease(b) == ""; ra != rb {
		return ra
	}
	return semver.Compare(a, b) > 0
}

// write makes a file with its directory, whole or not at all.
func write(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".tmp-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Chmod(tmp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return &diag.Error{Op: "write", Subject: name, Cause: err}
	}
	return nil
}

// versionOf splits path@version; no version is latest.
func versionOf(arg string) (path, version string, err error) {
	path, version, _ = strings.Cut(arg, "@")
	if err := module.CheckPath(path); err != nil {
		return "", "", diag.Errorf(diag.Usage, "library", path, "not a library path").
			WithHint("write host/path@version, such as git.example.com/perf/lib@v1.2.0")
	}
	if version != "" && version != "latest" && !semver.IsValid(version) {
		return "", "", diag.Errorf(diag.Usage, "library", path, "got version %q, want a semver tag or latest", version).
			WithHint("write for example %s@v1.2.0", path)
	}
	return path, version, nil
}
