package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"ppscript/cmd/ppscript/console"
	"ppscript/runtime/diag"
	"ppscript/runtime/library"
)

// This file finds the files of other libraries for load statements. Nothing is
// opened before a script loads from one.

// A libraries is the libraries whose scripts run, by directory, and the one
// whose requirements count now: that of the script that the user started.
type libraries struct {
	open map[string]*library.Library
	last *library.Library
}

// resolve implements script.HostOptions.Resolve.
func (a *app) resolve(module, from string) (string, []byte, error) {
	if lib, _, _ := strings.Cut(module, "//"); from != "" && strings.HasSuffix(lib, "@"+library.Latest) {
		return "", nil, diag.Errorf(diag.Run, "load", module, "a script loads one version, not the latest").
			WithHint("require it, and load it without a version: ppscript mod get %s", lib)
	}
	l, err := a.libraryOf(from)
	if err != nil {
		return "", nil, err
	}
	return l.Resolve(a.context(), module)
}

func (a *app) context() context.Context {
	if a.ctx == nil {
		return context.Background()
	}
	return a.ctx
}

// libraryOf is the library that the file at position from is in. Files of
// other libraries are loaded with the versions of the one that loads them.
func (a *app) libraryOf(from string) (*library.Library, error) {
	file, _, _ := strings.Cut(from, ":")
	dir := "."
	switch {
	case strings.Contains(from, "//") && a.libs.last != nil:
		return a.libs.last, nil
	case file != "" && !strings.HasPrefix(file, "<") && !strings.Contains(from, "//"):
		dir = filepath.Dir(file)
	}
	return a.library(dir)
}

// library opens the library that dir lies in, once.
func (a *app) library(dir string) (*library.Library, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if l := a.libs.open[dir]; l != nil {
		a.libs.last = l
		return l, nil
	}
	s, err := library.SettingsFrom(os.Getenv)
	if err != nil {
		return nil, err
	}
	if a.offline {
		s.Proxy = onDisk(s.Proxy)
	}
	// A user who sees the note may have a version pinned by using it.
	s.Pin, s.Note = console.IsTerminal(os.Stdin) && console.IsTerminal(os.Stderr), a.Say
	l, err := library.Open(dir, s)
	if err != nil {
		return nil, err
	}
	if a.libs.open == nil {
		a.libs.open = map[string]*library.Library{}
	}
	a.libs.open[dir], a.libs.last = l, l
	return l, nil
}

// onDisk is the part of PPSCRIPTPROXY that needs no other machine.
func onDisk(proxy string) string {
	var list []string
	for part := range strings.SplitSeq(proxy, ",") {
		if strings.HasPrefix(strings.TrimSpace(part), "file://") {
			list = append(list, part)
		}
	}
	return strings.Join(append(list, "off"), ",")
}

// directory makes one that goes with the process.
func (a *app) directory() (string, error) {
	dir, err := os.MkdirTemp("", "ppscript-")
	if err == nil {
		a.scratch = append(a.scratch, dir)
	}
	return dir, err
}

// close writes new hashes and removes scratch files.
func (a *app) close() error {
	errs := []error{a.removeScratch()}
	for _, l := range a.libs.open {
		errs = append(errs, l.Close())
	}
	a.libs = libraries{}
	return errors.Join(errs...)
}

// removeScratch removes the directories that go with the process.
func (a *app) removeScratch() error {
	var errs []error
	for _, dir := range a.scratch {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
