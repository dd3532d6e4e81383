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

// This file tells the sandbox which rights a command still needs once its files and events are open;
// the sandbox takes all others away.

// enter enters the sandbox. If the kernel cannot enforce a part of it, a message says so, and the run
// goes on.
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

// enterReader enters the sandbox for a command that shows the content of files, which could be hostile.
// Landlock is used too if the command writes only its own temporary files.
func (a *app) enterReader(writes bool) {
	n := sandbox.Needs{Files: true, Processes: writes}
	n.Writes, n.Removes = []string{os.TempDir()}, []string{os.TempDir()}
	a.enter(&common{}, n)
}

// namerWalls describes the sandbox of a command that reads other users' programs, and may ask servers
// for their debug files.
func namerWalls(a *app) func(writes []string, network bool) {
	return func(writes []string, network bool) {
		a.enter(&common{}, sandbox.Needs{Files: true, Writes: writes, Network: network})
	}
}

// confineOpener enters the sandbox for a process that will run scripts that are not known yet. They
// may open all kinds of events, read the memory of processes, and write the files that the user
// names.
func (a *app) confineOpener(c *common, starts bool) {
	if c.noSandbox {
		a.sayOpen()
		return
	}
	_, _ = tracefs.Find() // mounts tracefs if necessary; if that fails, the scripts report the error
	a.enter(c, sandbox.Needs{Opens: true, Starts: starts, Network: true, Processes: true, Cgroups: true,
		Kernel: true, Files: true})
}

// confineEarly enters the sandbox before the first byte of a recording is read. The other files of the
// run are not known yet.
func (a *app) confineEarly(c *common) {
	foreign := func(name string) bool { return !relay.IsFile(name) }
	if len(c.inputs) > 0 && !slices.ContainsFunc(c.inputs, foreign) {
		a.enter(c, sandbox.Needs{Command: c.target.Workload != nil, Processes: true, Network: true,
			Cgroups: true, Kernel: true})
	}
}

func (a *app) sayOpen() {
	a.Say("--no-sandbox: files from elsewhere are read with all rights of this program")
}

// confine makes the session of cfg enter the sandbox. A message names each part that the kernel
// cannot enforce.
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
