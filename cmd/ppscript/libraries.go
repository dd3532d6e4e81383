package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/script/library"
	"ppscript/runtime/text/diag"
)

// This file finds the files that load statements of scripts name in other libraries. A library is
// opened when a script first loads from it. Each invocation has one set of libraries. The rules for
// versions and hashes are in package library.

// libraries has the open libraries of an invocation, by directory. The library
// opened last is the one of the script that the user started: its requirements
// choose the versions of all others.
type libraries struct {
	Say     func(line string)
	Ctx     context.Context // for fetching; nil: until the process ends
	Offline bool            // fetch nothing: the script is only described or checked
	// Only, if set, resolves all loads in place of libraries.
	Only func(module, from string) (string, []byte, error)
	// Texts has the loaded files by full name. As maps the text of a load statement to
	// the full name.
	Texts map[string][]byte
	As    map[string]string

	open map[string]*library.Library
	last *library.Library
}

// Resolve implements script.HostOptions.Resolve.
func (b *libraries) Resolve(module, from string) (string, []byte, error) {
	if b.Only != nil {
		return b.Only(module, from)
	}
	full, src, err := b.resolve(module, from)
	if err == nil {
		if b.As == nil {
			b.Texts, b.As = map[string][]byte{}, map[string]string{}
		}
		b.Texts[full], b.As[module] = src, full
	}
	return full, src, err
}

func (b *libraries) resolve(module, from string) (string, []byte, error) {
	if lib, _, _ := strings.Cut(module, "//"); from != "" && strings.HasSuffix(lib, "@"+library.Latest) {
		return "", nil, diag.Errorf(diag.Run, "load", module, "a script loads one version, not the latest").
			WithHint("require it, and load it without a version: ppscript mod get %s", lib)
	}
	l, err := b.libraryOf(from)
	if err != nil {
		return "", nil, err
	}
	return l.Resolve(b.context(), module)
}

func (b *libraries) context() context.Context {
	if b.Ctx == nil {
		return context.Background()
	}
	return b.Ctx
}

// libraryOf returns the library of the file in which a load statement is; from
// is its position. Inside a file of another library, the library that was
// opened last decides the versions.
func (b *libraries) libraryOf(from string) (*library.Library, error) {
	file, _, _ := strings.Cut(from, ":")
	dir := "."
	switch {
	case strings.Contains(from, "//") && b.last != nil:
		return b.last, nil
	case file != "" && !strings.HasPrefix(file, "<") && !strings.Contains(from, "//"):
		dir = filepath.Dir(file)
	}
	return b.Library(dir)
}

// Library returns the library that dir lies in, and opens it the first time.
func (b *libraries) Library(dir string) (*library.Library, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if l := b.open[dir]; l != nil {
		b.last = l
		return l, nil
	}
	s, err := library.SettingsFrom(os.Getenv)
	if err != nil {
		return nil, err
	}
	if b.Offline {
		s.Proxy = onDisk(s.Proxy)
	}
	// On a terminal the user sees the note, so a new version may be pinned.
	s.Pin, s.Note = console.IsTerminal(os.Stdin) && console.IsTerminal(os.Stderr), b.Say
	l, err := library.Open(dir, s)
	if err != nil {
		return nil, err
	}
	if b.open == nil {
		b.open = map[string]*library.Library{}
	}
	b.open[dir], b.last = l, l
	return l, nil
}

// onDisk returns the parts of PPSCRIPTPROXY that need no network.
func onDisk(proxy string) string {
	var list []string
	for part := range strings.SplitSeq(proxy, ",") {
		if strings.HasPrefix(strings.TrimSpace(part), "file://") {
			list = append(list, part)
		}
	}
	return strings.Join(append(list, "off"), ",")
}

// Close writes new hashes and closes all libraries.
func (b *libraries) Close() error {
	var errs []error
	for _, l := range b.open {
		errs = append(errs, l.Close())
	}
	b.open, b.last = nil, nil
	return errors.Join(errs...)
}
