package script

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// This file reloads files that were edited while a REPL runs.

// A loadedBy is a load statement, and the chunk that has it.
type loadedBy struct{ chunk, text string }

// keepLoads records the load statements of a chunk that ran.
func (r *REPL) keepLoads(chunk string, tree *syntax.File) {
	for _, stmt := range tree.Stmts {
		load, ok := stmt.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		text := fmt.Sprintf("load(%q", load.ModuleName())
		for i := range load.From {
			text += fmt.Sprintf(", %s = %q", load.To[i].Name, load.From[i].Name)
		}
		text += ")"
		if !slices.ContainsFunc(r.loads, func(l loadedBy) bool { return l.text == text }) {
			r.loads = append(r.loads, loadedBy{chunk, text})
		}
	}
}

// Loaded reports that chunks have loaded files.
func (r *REPL) Loaded() bool { return len(r.loads) > 0 }

// Load runs a file again with all files that it loads, and repeats the load statements of chunks;
// their names become globals of the REPL. load is nil if there is no file. If anything fails,
// nothing changes.
func (r *REPL) Load(load func(h *Host) (*Module, error)) error {
	old, globals, loads := r.host.loaded.byName, maps.Clone(r.globals), slices.Clone(r.loads)
	r.host.loaded.byName = map[string]*Module{}
	err := r.loadAll(load)
	if err != nil {
		r.host.loaded.byName, r.loads = old, loads
		clear(r.globals)
		maps.Copy(r.globals, globals)
	}
	return err
}

func (r *REPL) loadAll(load func(h *Host) (*Module, error)) error {
	if load != nil {
		m, err := load(r.host)
		if err != nil {
			return err
		}
		maps.Copy(r.globals, m.Globals)
	}
	for _, l := range slices.Clone(r.loads) {
		again := strings.TrimSuffix(l.chunk, ">") + ", again>"
		if _, err := r.ExecNamed(again, l.text); err != nil {
			return err
		}
	}
	return nil
}

// Changed lists loaded files whose text has changed, each change once. A file of a library is
// checked only if edited returns true, since others do not change.
func (r *REPL) Changed(edited func(name string) bool) []string {
	h := r.host
	if h.loaded.hashes == nil {
		h.loaded.hashes = map[string][sha256.Size]byte{}
	}
	var names []string
	for _, key := range slices.Sorted(maps.Keys(h.loaded.byName)) {
		ran, ok := h.loaded.sums[key]
		if !ok {
			continue
		}
		var text []byte
		var err error
		switch {
		case !strings.Contains(key, "//"):
			text, err = ReadFile(key)
		case h.opts.Resolve != nil && edited(key):
			_, text, err = h.opts.Resolve(key, "")
		default:
			continue
		}
		if err != nil {
			continue // the file is removed or being written: ignore that
		}
		sum := sha256.Sum256(text)
		if sum != ran && sum != h.loaded.hashes[key] {
			names = append(names, h.short(key))
		}
		h.loaded.hashes[key] = sum
	}
	return names
}
