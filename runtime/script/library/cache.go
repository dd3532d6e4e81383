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

	"ppscript/runtime/text/diag"
)

// Settings are the user's settings, from the environment.
type Settings struct {
	// Cache is the directory of fetched libraries: PPSCRIPTCACHE, else
	// ppscript/mod in the user's cache directory.
	Cache string
	// Proxy is PPSCRIPTPROXY.
	Proxy string
	// NoSum lists patterns of libraries that are not pinned: PPSCRIPTNOSUM, for
	// the user's own libraries that still change.
	NoSum string
	// NoWork says that ppscript.work is ignored: PPSCRIPTWORK=off.
	NoWork bool
	// Own is the path of the user's own ppscript.sum, for libraries that are
	// named with their version and not pinned by another library.
	Own string
	// Pin says that using a library may add lines to its ppscript.sum; Note is
	// called with each. Without it, only Get, Tidy and Vendor add lines.
	Pin  bool
	Note func(line string)
}

// SettingsFrom reads the settings of an environment.
func SettingsFrom(getenv func(string) string) (Settings, error) {
	s := Settings{Cache: getenv("PPSCRIPTCACHE"), Proxy: getenv("PPSCRIPTPROXY"),
		NoSum:  getenv("PPSCRIPTNOSUM"),
		NoWork: getenv("PPSCRIPTWORK") == "off"}
	if s.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return s, (&diag.Error{Op: "find", Subject: "cache directory", Cause: err}).WithHint(
				"set PPSCRIPTCACHE")
		}
		s.Cache = filepath.Join(dir, "ppscript", "mod")
	}
	s.Own = filepath.Join(s.Cache, SumName)
	if dir, err := os.UserConfigDir(); err == nil {
		s.Own = filepath.Join(dir, "ppscript", SumName)
	}
	return s, nil
}

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

// readOnly removes write permission from everything below dir.
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
	scratch, err := st.scratch.path()
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(scratch, "zip-")
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

// latest is the highest version of a library; a release is preferred.
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

// better orders versions: releases first, then higher versions.
func better(a, b string) bool {
	if ra, rb := semver.Prerelease(a) == "", semver.Prerelease(b) == ""; ra != rb {
		return ra
	}
	return semver.Compare(a, b) > 0
}

// write makes a file and its directory; the file is written completely or not
// at all.
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

// versionOf splits path@version; without a version it is latest.
func versionOf(arg string) (path, version string, err error) {
	path, version, _ = strings.Cut(arg, "@")
	if err := module.CheckPath(path); err != nil {
		return "", "", diag.Errorf(diag.Usage, "library", path, "not a library path").
			WithHint("write host/path@version, such as git.example.com/perf/lib@v1.2.0")
	}
	if version != "" && version != "latest" && !semver.IsValid(version) {
		return "", "", diag.Errorf(diag.Usage, "library", path,
			"got version %q, want a semver tag or latest", version).
			WithHint("write for example %s@v1.2.0", path)
	}
	return path, version, nil
}
