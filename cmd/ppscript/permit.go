package main

import (
	"ppscript/cmd/ppscript/permit"
	"ppscript/runtime/plan"
	"ppscript/runtime/script"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/system/kernel"
)

// written returns the files that common options name for writing.
func (inv *invocation) written() (paths []string) {
	for _, f := range inv.flags.list {
		if permit.Writes(f.name) && f.common() {
			paths = append(paths, f.texts...)
		}
	}
	return paths
}

// permits records which files and addresses an invocation may use.
func (inv *invocation) permits(say func(string)) *permit.Permits {
	p := &permit.Permits{Typed: typedIn(inv.host), Named: map[string]bool{}, Say: say,
		Files: inv.common.extra.files, Peers: inv.common.extra.peers,
		LookOnly: inv.common.extra.nothing, ForOthers: inv.common.extra.forOthers,
		Verbose: inv.common.options.Verbose > 0}
	for _, text := range inv.typed {
		p.Named[text] = true
	}
	for _, text := range inv.eventTexts() {
		sources, err := eventstring.Parse(text, kernel.ParseCPUList)
		if err != nil {
			continue // reported before
		}
		for _, s := range sources {
			for _, address := range append(s.Pull(), s.Push()...) {
				p.Named[address] = true
			}
		}
	}
	return p
}

// permitOptions checks the files of common options whose values come from the script, and, with
// --look-only, all options.
func permitOptions(inv *invocation, may func(plan.Use) error) error {
	if inv.common.extra.nothing {
		for _, f := range inv.flags.list {
			if len(f.texts) == 0 || !f.common() {
				continue
			}
			if err := permit.Look(f.name); err != nil {
				return err
			}
		}
	}
	for _, path := range inv.writes {
		if path == "-" || path == "" {
			continue // stdout
		}
		if err := may(plan.Use{Kind: plan.Writes, Name: path, ScriptText: path}); err != nil {
			return err
		}
	}
	return nil
}

func typedIn(host *script.Host) func() bool {
	return func() bool { return len(host.Files()) == 0 }
}
