package main

import (
	"os"
	"path/filepath"
	"ppscript/runtime/plan"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/permit"
	"ppscript/runtime/session"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/sandbox"
)

// This file says what a run still does once all is open, and has the sandbox take the rest.

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

// enterReader puts up the walls for a command that reads files, of which some could be hostile, and
// shows what is in them. Landlock is up if it writes nothing but its own temporary files.
func (a *app) enterReader(writes bool) {
	n := sandbox.Needs{Files: true, Processes: writes}
	n.Writes, n.Removes = []string{os.TempDir()}, []string{os.TempDir()}
	a.enter(&common{}, n)
}

// namerWalls puts up the walls for a command that reads programs of others, and may ask servers.
func namerWalls(a *app) func(writes []string, network bool) {
	return func(writes []string, network bool) {
		a.enter(&common{}, sandbox.Needs{Files: true, Writes: writes, Network: network})
	}
}

// confineOpener puts up the walls for a process that goes on to run unknown scripts: they may open
// all kinds of events, look into processes, and write wherever the user says.
func (a *app) confineOpener(c *common, starts bool) {
	if c.noSandbox {
		a.sayOpen()
		return
	}
	_, _ = tracefs.Find() // which mounts it where nobody did; the scripts tell what is wrong with it
	a.enter(c, sandbox.Needs{Opens: true, Starts: starts, Network: true, Processes: true, Cgroups: true,
		Kernel: true, Files: true})
}

// confineEarly has a recording read behind walls from its first byte on. What else the run opens is
// not known yet.
func (a *app) confineEarly(c *common) {
	foreign := func(name string) bool { return !relay.IsFile(name) }
	if len(c.inputs) > 0 && !slices.ContainsFunc(c.inputs, foreign) {
		a.enter(c, sandbox.Needs{Command: c.target.Workload != nil, Processes: true, Network: true,
			Cgroups: true, Kernel: true})
	}
}

func (a *app) sayOpen() {
	a.Say("--no-sandbox: files of others are read with all rights of this program")
}

// confine makes cfg enter the sandbox. What could not be done is said.
func (a *app) confine(inv *invocation, cfg *session.Config) {
	c := inv.common
	if c.noSandbox {
		a.sayOpen()
		return
	}
	needs := sandbox.Needs{Command: c.target.Workload != nil}
	for _, name := range permit.Senders() {
		needs.Network = needs.Network || len(inv.flags.texts(name)) > 0 &&
			(name != "symbols-from" || len(c.options.Symbols.Servers.URLs) > 0)
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
		if dir := c.options.Symbols.Servers.Cache; dir != "" {
			writes = append(writes, dir)
		}
		if path, ok := strings.CutPrefix(c.page.http, "unix:"); ok {
			writes = append(writes, filepath.Dir(path))
		}
		for _, u := range inv.may.Used {
			if u.Kind == plan.Writes || relay.IsFile(u.Name) || strings.HasPrefix(u.Name, "unix:") {
				writes = append(writes, filepath.Dir(strings.TrimPrefix(u.Name, "unix:")))
			}
			needs.Network = needs.Network || u.Kind != plan.Writes
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
