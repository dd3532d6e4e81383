package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ppscript/runtime/relay"
	"ppscript/runtime/sandbox"
	"ppscript/runtime/session"
)

// This file says what a run still does once all is open, and has the sandbox take the rest.

// senders are the options by which the run talks to other machines.
var senders = []string{"otlp", "otlp-profiles", "pyroscope"}

// enter puts up the walls. What could not be done is said, and the run goes on.
func (a *app) enter(c *common, n sandbox.Needs) {
	if c.noSandbox {
		return
	}
	walls, err := sandbox.Enter(n)
	if err != nil {
		a.Say("the sandbox is not complete: " + err.Error())
	}
	if c.options.Verbose > 1 {
		a.Say("sandbox: " + walls.String())
	}
}

// confine makes cfg enter the sandbox; a recording is read inside it from its first byte on. What
// could not be done is said.
func (a *app) confine(inv *invocation, cfg *session.Config) {
	c := inv.common
	if c.noSandbox {
		a.Say("--no-sandbox: files of others are read with all rights of this program")
		return
	}
	needs := sandbox.Needs{Command: c.target.Workload != nil}
	for _, name := range senders {
		needs.Network = needs.Network || len(inv.flags.texts(name)) > 0
	}
	foreign := func(name string) bool { return !relay.IsFile(name) }
	if len(c.inputs) > 0 && !slices.ContainsFunc(c.inputs, foreign) {
		early := needs
		// What else it opens is not known yet.
		early.Processes, early.Network, early.Cgroups, early.Kernel = true, true, true, true
		a.enter(c, early)
	}
	cfg.Confine = func(n session.Confinement) error {
		needs.Processes, needs.Files, needs.Cgroups = n.Processes, n.Files, n.Names
		needs.Kernel = n.Kernel
		needs.Network = needs.Network || n.Names
		writes := slices.Clone(a.scratch.dirs)
		if n.Scratch {
			writes = append(writes, os.TempDir(), "/var/tmp")
		}
		for _, path := range inv.written() {
			writes = append(writes, filepath.Dir(path))
		}
		if path, ok := strings.CutPrefix(c.page.http, "unix:"); ok {
			writes = append(writes, filepath.Dir(path))
		}
		for _, u := range inv.may.Used {
			if u.Kind == session.Writes || relay.IsFile(u.Name) || strings.HasPrefix(u.Name, "unix:") {
				writes = append(writes, filepath.Dir(strings.TrimPrefix(u.Name, "unix:")))
			}
			needs.Network = needs.Network || u.Kind != session.Writes
		}
		if len(a.scratch.dirs) > 0 {
			needs.Removes = []string{os.TempDir()}
		}
		slices.Sort(writes)
		needs.Writes = slices.Compact(writes)
		a.enter(c, needs)
		return nil
	}
}
