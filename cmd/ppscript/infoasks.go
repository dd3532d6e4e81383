package main

import (
	"slices"
	"strings"

	"ppscript/cmd/ppscript/recording"
	"ppscript/runtime/session"
	"ppscript/stdlib"
)

// profilersOver returns the profilers that can run over a recording: without options, and with events
// of the recording as options. For each, a plan is built for the recording, without reading its events.
func profilersOver(a *app, path string, events []recording.Event) (alone, named []string) {
	defer func(before int) { a.Quiet = before }(a.Quiet)
	a.Quiet = 2     // messages about a run that does not take place would confuse
	var some string // the most frequent event
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

// ways lists the options by which profilers take an event: alone, with one of its numeric fields, as
// both stages of a pair, with an expression, with an SQL query.
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

// inspectedRun returns the run that a command line describes, without running it: it prints nothing,
// and may write nothing.
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
