package tracefs

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
)

// This file lists events from directory names alone: a format file costs the
// kernel some 10 us, and there are 2,300 of them.

// Systems lists the event systems, sorted.
func (f *FS) Systems() ([]string, error) { return f.dirs("") }

// Events lists all events as "sys:name", sorted.
func (f *FS) Events() ([]string, error) { return f.match("*:*", "") }

// noTracepoints is the system of the events that the kernel's own tracers write.
// They have formats, but cannot be opened.
const noTracepoints = "ftrace"

// Match lists the events that match a pattern, sorted. Both halves of "sys:name"
// may have * ? [a-z] [^a]; a pattern without them names one event. If nothing
// matches, the error has the most similar name. A pattern with wildcards in the
// system matches only tracepoints, not events of the kernel's tracers.
func (f *FS) Match(pattern string) ([]string, error) {
	return f.match(pattern, noTracepoints)
}

// match is Match; it leaves out the system called except, unless the pattern
// names it exactly.
func (f *FS) match(pattern, except string) ([]string, error) {
	sys, name, ok := strings.Cut(pattern, ":")
	if !ok || sys == "" || name == "" {
		return nil, f.notAnEvent(pattern)
	}
	systems, err := f.dirs("")
	if err != nil {
		return nil, err
	}
	var list []string
	for _, s := range systems {
		if !glob.Match(sys, s) || s == except && s != sys {
			continue
		}
		names, err := f.dirs(s)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if glob.Match(name, n) {
				list = append(list, s+":"+n)
			}
		}
	}
	// The systems are sorted, but "fib:x" sorts after "fib6:x".
	slices.Sort(list)
	switch {
	case len(list) > 0:
		return list, nil
	case !isGlob(pattern):
		return nil, f.unknown(sys, name)
	}
	e := diag.Errorf(diag.Attach, "find events", pattern, "none matches")
	return nil, f.notShipped(pattern, e.WithHint("list the events: ppscript list '%s:*'", sys))
}

// Schema reads and parses an event's format; a second call returns the same
// Schema.
func (f *FS) Schema(sys, name string) (*event.Schema, error) {
	key := sys + ":" + name
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.schemas[key]; s != nil {
		return s, nil
	}
	text, err := f.Format(sys, name)
	if err != nil {
		return nil, err
	}
	s, err := f.Options.parseFormat(sys, text)
	if err != nil {
		return nil, err
	}
	f.schemas[key] = s
	return s, nil
}

// Format returns the text of an event's format file, which the caller must not
// change.
func (f *FS) Format(sys, name string) ([]byte, error) {
	if !plain(sys) || !plain(name) {
		return nil, f.unknown(sys, name)
	}
	if f.shipped != nil {
		text, ok := f.shipped.systems[sys][name]
		if !ok {
			return nil, f.unknown(sys, name)
		}
		return text, nil
	}
	path := filepath.Join(f.root, "events", sys, name, "format")
	text, err := privilege.ReadFile(privilege.Kernel, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, f.unknown(sys, name)
	case errors.Is(err, fs.ErrPermission):
		return nil, noAccess(path, err)
	case err != nil:
		return nil, diag.Errorf(diag.Attach, "open tracepoint", sys+":"+name, "%w", err)
	}
	return text, nil
}

// plain reports that a name can be joined to a path safely.
func plain(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}

// dirs lists the directories in events/sub, sorted.
func (f *FS) dirs(sub string) ([]string, error) {
	switch {
	case f.shipped != nil && sub == "":
		return slices.Sorted(maps.Keys(f.shipped.systems)), nil
	case f.shipped != nil:
		return slices.Sorted(maps.Keys(f.shipped.systems[sub])), nil
	}
	path := filepath.Join(f.root, "events", sub)
	entries, err := privilege.ReadDir(privilege.Kernel, path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, noAccess(path, err)
	case err != nil:
		return nil, diag.Errorf(diag.Attach, "list events in", path, "%w", err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// unknown returns the error for an event that does not exist. It suggests the
// most similar event: in the same system, in a system with a similar name, or
// with the same name in another system.
func (f *FS) unknown(sys, name string) error {
	return f.notShipped(sys+":"+name, f.notThere(sys, name))
}

func (f *FS) notThere(sys, name string) error {
	const op = "open tracepoint"
	subject := sys + ":" + name
	systems, err := f.dirs("")
	if err != nil {
		return err
	}
	near := sys
	if !slices.Contains(systems, sys) {
		near = diag.Nearest(sys, systems)
		if near == "" {
			if there := f.homes(name); len(there) > 0 {
				return diag.Errorf(diag.Attach, op, subject, "no event system %s (did you mean %s?)", sys,
					there[0]).
					WithHint("list the systems: ppscript list")
			}
			return diag.Errorf(diag.Attach, op, subject, "no event system %s", sys).
				WithHint("list the systems: ppscript list")
		}
	}
	names, err := f.dirs(near)
	if err != nil {
		return err
	}
	guess := name
	if !slices.Contains(names, name) {
		guess = diag.Nearest(name, names)
	}
	if near == sys {
		e := diag.Errorf(diag.Attach, op, subject, "no such event")
		if guess == "" {
			if there := f.homes(name); len(there) > 0 {
				near, guess, _ = strings.Cut(there[0], ":")
			}
		}
		if guess != "" {
			e.Cause = errors.New("no such event (did you mean " + near + ":" + guess + "?)")
		}
		return e.WithHint("list the events: ppscript list '%s:*'", sys)
	}
	if guess == "" {
		guess = "*"
	}
	return diag.Errorf(diag.Attach, op, subject, "no event system %s (did you mean %s:%s?)", sys,
		near, guess).
		WithHint("list the events: ppscript list '%s:*'", near)
}

// notAnEvent returns the error for a text that is not "sys:name".
func (f *FS) notAnEvent(text string) error {
	e := diag.Errorf(diag.Usage, "find events", text, "want system:name")
	if there := f.homes(strings.Trim(text, ":")); len(there) > 0 {
		e.Cause = errors.New("want system:name (did you mean " + there[0] + "?)")
	}
	return e.WithHint("list the events: ppscript list")
}

// homes lists the events called name in all systems.
func (f *FS) homes(name string) []string {
	if !plain(name) || isGlob(name) {
		return nil
	}
	systems, err := f.dirs("")
	if err != nil {
		return nil
	}
	var list []string
	for _, s := range systems {
		if f.has(s, name) {
			list = append(list, s+":"+name)
		}
	}
	return list
}

// has reports that a system has an event.
func (f *FS) has(sys, name string) bool {
	if f.shipped != nil {
		_, ok := f.shipped.systems[sys][name]
		return ok
	}
	fi, err := privilege.Stat(privilege.Kernel, filepath.Join(f.root, "events", sys, name))
	return err == nil && fi.IsDir()
}

func isGlob(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[':
			return true
		}
	}
	return false
}
