package main

import (
	"slices"
	"strings"

	"ppscript/cmd/ppscript/recording"
	"ppscript/runtime/session"
	"ppscript/stdlib"
)

// profilersOver are the profilers that can run over a recording: by themselves, and
// with events of it that the user names. They are tried: their plans are made for
// the recording, and nothing of it is read.
func profilersOver(a *app, path string, events []recording.Event) (alone, named []string) {
	defer func(before int) { a.Quiet = before }(a.Quiet)
	a.Quiet = 2     // their messages would be about a run that does not take place
	var some string // the event that came most often
	most := uint64(0)
	for _, e := range events {
		if strings.Contains(e.Name, ":") && e.Fields > 0 && e.Samples >= most {
			some, most = e.Name, e.Samples
		}
	}
	for _, name := range stdlib.Names() {
		name = display(name)
		switch {
		case runsOver(a, path, name):
			alone = append(alone, name)
		case some != "" && slices.ContainsFunc(ways(some), func(options []string) bool {
			return runsOver(a, path, name, options...)
		}):
			named = append(named, name)
		}
	}
	slices.Sort(alone)
	slices.Sort(named)
	return alone, named
}

// ways are how profilers are told of an event: alone, with a number of it, as both
// stages of a pair, with an expression, with a question.
func ways(name string) [][]string {
	return [][]string{
		{"-e", name}, {"-e", name + "//num=cpu/"}, {"-e", name, "-e", name}, {"-e", name, "cpu"},
		{"-e", name, "--query", "select 1"},
	}
}

// runsOver reports that a profiler finds the events and fields that it needs in a recording.
func runsOver(a *app, path, name string, options ...string) bool {
	_, cfg, err := a.inspectedRun(append([]string{name, "--input", path}, options...))
	if err != nil {
		return false
	}
	n, err := session.Events(cfg)
	return err == nil && n > 0
}

// inspectedRun is a run that a command line asks for, to be looked at: it says nothing, and may write
// nothing.
func (a *app) inspectedRun(args []string) (inv *invocation, cfg session.Config, err error) {
	host, _, err := a.newHost()
	if err != nil {
		return nil, cfg, err
	}
	if inv, err = a.invoke(host, args); err != nil {
		return nil, cfg, err
	}
	if inv.values == nil {
		return nil, cfg, usagef("look at", args[0], "that is no run").WithHint("give the name of a profiler")
	}
	inv.common.extra.nothing = true
	reports, err := inv.reports()
	if err != nil {
		return nil, cfg, err
	}
	cfg, err = a.config(inv, reports)
	cfg.Messages, cfg.Notes = nil, nil
	return inv, cfg, err
}
