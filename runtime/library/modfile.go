package library

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"ppscript/runtime/diag"
)

// A Mod is what a ppscript.mod says.
type Mod struct {
	Path     string // of the library itself
	Requires []module.Version
	file     *modfile.File
}

// ParseMod reads a ppscript.mod; name is for messages.
func ParseMod(name string, text []byte) (*Mod, error) {
	f, err := modfile.ParseLax(name, text, nil)
	if err != nil {
		return nil, &diag.Error{Op: "read", Subject: name, Cause: err, Class: diag.Usage,
			Hint: "write it as: module git.example.com/perf/lib, then: require git.example.com/perf/base v1.2.0"}
	}
	if f.Module == nil || f.Module.Mod.Path == "" {
		return nil, diag.Errorf(diag.Usage, "read", name, "no module line").
			WithHint("begin it with: module git.example.com/perf/lib")
	}
	m := &Mod{Path: f.Module.Mod.Path, file: f}
	for _, r := range f.Require {
		if err := checkVersion(r.Mod); err != nil {
			return nil, err
		}
		m.Requires = append(m.Requires, r.Mod)
	}
	return m, nil
}

func checkVersion(v module.Version) error {
	if err := module.CheckPath(v.Path); err != nil {
		return (&diag.Error{Op: "library", Subject: v.Path, Cause: errors.New("not a library path"), Class: diag.Usage}).
			WithHint("write host/path, such as git.example.com/perf/lib")
	}
	if !semver.IsValid(v.Version) {
		return diag.Errorf(diag.Usage, "library", v.Path, "got version %q, want a semver tag", v.Version).
			WithHint("write for example v1.2.0")
	}
	return nil
}

// setRequires writes the requirements, sorted.
func (m *Mod) setRequires(vs []module.Version) ([]byte, error) {
	slices.SortFunc(vs, func(a, b module.Version) int { return strings.Compare(a.Path, b.Path) })
	var want []*modfile.Require
	for _, v := range vs {
		want = append(want, &modfile.Require{Mod: v})
	}
	m.file.SetRequire(want)
	m.file.Cleanup()
	m.Requires = vs
	return m.file.Format()
}

// findRoot returns the directory, at or above dir, that holds a ppscript.mod;
// "" if none does.
func findRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, ModName))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", &diag.Error{Op: "read", Subject: filepath.Join(dir, ModName), Cause: err}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", nil
		}
		dir = up
	}
}
