package script

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

const stdlibPrefix = "@stdlib//"

func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Load loads a file: a path, or @stdlib//name.star. A file is loaded once;
// later calls return the same Module. Errors are *diag.Error.
func (h *Host) Load(name string) (*Module, error) {
	if !strings.HasPrefix(name, stdlibPrefix) {
		name = filepath.ToSlash(filepath.Clean(name))
		if strings.HasPrefix(name, "<") {
			name = "./" + name // a file, not a typed text
		}
	}
	return h.module(name, func() ([]byte, error) { return h.read(name) })
}

// LoadSource loads a program that is not a file, such as the text after -c;
// name is used in messages. Relative loads are relative to the working
// directory.
func (h *Host) LoadSource(name, text string) (*Module, error) {
	return h.module(name, func() ([]byte, error) { return []byte(text), nil })
}

func (h *Host) read(name string) ([]byte, error) {
	rest, std := strings.CutPrefix(name, stdlibPrefix)
	var src []byte
	var err error
	hint := "see what it is: ls -l " + name
	switch {
	case !std:
		src, err = ReadFile(name)
	case h.opts.Stdlib == nil || !fs.ValidPath(rest):
		err = fs.ErrNotExist
	default:
		src, err = fs.ReadFile(h.opts.Stdlib, rest)
	}
	if err == nil {
		return src, nil
	}
	cause := diag.Reason(err)
	if errors.Is(err, fs.ErrPermission) {
		hint = "see who may read it: ls -l " + name
	}
	if errors.Is(err, fs.ErrNotExist) {
		names := h.siblings(name)
		cause = fmt.Errorf("no such file%s", diag.DidYouMean(path.Base(name), names))
		hint = "list the scripts that come with ppscript: ppscript list"
	}
	return nil, &diag.Error{Op: "load", Subject: name, Cause: cause, Hint: hint}
}

// siblings lists the scripts in the directory of a file.
func (h *Host) siblings(name string) []string {
	var entries []fs.DirEntry
	if rest, std := strings.CutPrefix(name, stdlibPrefix); !std {
		entries, _ = os.ReadDir(filepath.Dir(name))
	} else if h.opts.Stdlib != nil && fs.ValidPath(path.Dir(rest)) {
		entries, _ = fs.ReadDir(h.opts.Stdlib, path.Dir(rest))
	}
	var names []string
	for _, e := range entries {
		if path.Ext(e.Name()) == ".star" {
			names = append(names, e.Name())
		}
	}
	return names
}

// module runs a file unless it has been loaded already.
func (h *Host) module(name string, read func() ([]byte, error)) (*Module, error) {
	key := name
	if !strings.Contains(name, "//") && !strings.HasPrefix(name, "<") {
		if abs, err := filepath.Abs(name); err == nil {
			key = abs
		}
	}
	if m, ok := h.loaded.byName[key]; ok {
		return m, nil
	}
	if i := slices.Index(h.loaded.loading, key); i >= 0 {
		chain := append(slices.Clone(h.loaded.loading[i:]), key)
		for i := range chain {
			chain[i] = h.short(chain[i])
		}
		return nil, &diag.Error{
			Op:    "load cycle",
			Cause: errors.New(strings.Join(chain, " -> ")),
			Hint:  "move what both files need into a third one",
		}
	}
	src, err := read()
	if err != nil {
		return nil, err
	}
	if foreign(key) {
		if h.opts.Vet != nil {
			if err := h.opts.Vet(key, src); err != nil {
				return nil, err
			}
		}
		h.loaded.sums[key] = sha256.Sum256(src)
	}
	h.loaded.loading = append(h.loaded.loading, key)
	defer func() { h.loaded.loading = h.loaded.loading[:len(h.loaded.loading)-1] }()
	m, err := h.exec(name, string(src))
	if err != nil {
		return nil, err
	}
	h.loaded.byName[key] = m
	return m, nil
}

// short converts a module's key to the form that a user would write.
func (h *Host) short(key string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, key); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.ToSlash(rel)
		}
	}
	return key
}

// load implements the load statement.
func (h *Host) load(t *starlark.Thread, module string) (starlark.StringDict, error) {
	at := loadPos(t)
	from := at.Filename()
	var m *Module
	var err error
	switch {
	case path.Ext(module) != ".star":
		return nil, diag.Errorf(diag.Run, "load", module, "not a .star file").
			WithHint(`name the file with its ending, for example "./lib.star"`)
	case strings.HasPrefix(module, stdlibPrefix):
		m, err = h.Load(stdlibPrefix + path.Clean(module[len(stdlibPrefix):]))
	case strings.HasPrefix(module, "./"), strings.HasPrefix(module, "../"):
		rest, std := strings.CutPrefix(from, stdlibPrefix)
		if std {
			m, err = h.Load(stdlibPrefix + path.Join(path.Dir(rest), module))
		} else if lib, file, ok := strings.Cut(from, "//"); ok {
			m, err = h.foreign(lib+"//"+path.Join(path.Dir(file), module), at)
		} else {
			dir := "."
			if !strings.HasPrefix(from, "<") {
				dir = filepath.Dir(from)
			}
			m, err = h.Load(filepath.Join(dir, module))
		}
	case strings.Contains(module, "//"):
		m, err = h.foreign(module, at)
	default:
		return nil, diag.Errorf(diag.Run, "load", module, "neither relative nor from a library").
			WithHint(`write load("./%s", ...) for a file beside this one, or load("@stdlib//%[1]s", ...)`,
				path.Clean(module))
	}
	if err != nil {
		return nil, &loadError{at: at, err: err}
	}
	return m.Globals, nil
}

func (h *Host) foreign(module string, at syntax.Position) (*Module, error) {
	if h.opts.Resolve == nil {
		return nil, diag.Errorf(diag.Run, "load", module, "no such library").
			WithHint("load from @stdlib// or from a file beside this one")
	}
	name, src, err := h.opts.Resolve(module, at.String())
	if err != nil {
		return nil, err
	}
	return h.module(name, func() ([]byte, error) { return src, nil })
}

// loadPos is the position of the load statement being executed on t.
func loadPos(t *starlark.Thread) syntax.Position {
	if t.CallStackDepth() == 0 {
		return syntax.Position{}
	}
	return t.CallFrame(0).Pos
}

// A loadError is the error of a loaded file, with the position of the load.
type loadError struct {
	at  syntax.Position
	err error
}

func (e *loadError) Error() string { return e.err.Error() }
func (e *loadError) Unwrap() error { return e.err }
