package main

import (
	"os"
	"slices"
	"time"

	"ppscript/cmd/ppscript/fleet/journal"
	"ppscript/cmd/ppscript/permit"
	"ppscript/runtime/session/cost"
)

// audited runs a command with an entry in the audit log. The log is opened before the run,
// because the sandbox forbids it later.
func (a *app) audited(inv *invocation, run func() error) error {
	j := journal.Open(journal.Socket)
	if j == nil {
		return run()
	}
	e := journal.New(buildVersion(), os.Args[1:], inv.host.Files())
	if v := a.vetting.vetter; v != nil && v.By.Public != nil {
		e.SignedBy = v.By.Fingerprint()
	}
	if g := a.vetting.gate; g != nil && g.Rule != nil {
		if e.Rule = g.Rule.At; g.By.Public != nil {
			e.SignedBy = g.By.Fingerprint()
		}
	}
	t := &inv.common.target
	e.Target = journal.Target{PIDs: t.PIDs, TIDs: t.TIDs, CPUs: t.CPUs, Cgroups: t.Cgroups,
		Recording: inv.common.input}
	if t.Workload != nil {
		e.Target.Command = t.Workload.Args
	}
	err := run()
	e.Opened = inv.opened()
	e.Seconds = time.Since(e.Began).Seconds()
	used := cost.NewUsage()
	e.CPUSeconds, e.MaxRSS = (used.User + used.Sys).Seconds(), used.MaxRSSKB<<10
	e.Samples, e.Missing = inv.outcome.Samples, inv.outcome.Loss.Missing()
	if err != nil {
		e.Error = err.Error()
	}
	if err := j.Tell(e); err != nil {
		a.Say("no entry about this run was written to the journal: " + err.Error())
	}
	return err
}

// opened lists the files and addresses that a run opened for results and events, with the purpose of
// each.
func (inv *invocation) opened() (list []string) {
	for _, path := range inv.written() {
		list = append(list, "write "+path)
	}
	if at := inv.common.page.http; at != "" {
		list = append(list, "listen "+at)
	}
	for _, name := range permit.Senders() {
		for _, to := range inv.flags.texts(name) {
			list = append(list, "send "+journal.Redacted(to))
		}
	}
	if inv.may != nil {
		for _, u := range inv.may.Used {
			list = append(list, u.Kind.String()+" "+u.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
