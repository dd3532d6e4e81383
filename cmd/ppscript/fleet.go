package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ppscript/cmd/ppscript/fleet"
	"ppscript/cmd/ppscript/fleet/journal"
	"ppscript/cmd/ppscript/recording/resultfile"
	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
	"ppscript/runtime/system/sandbox"
	"ppscript/stdlib"
)

// This file connects scripts with fleets: partial results, and runs on other machines.

// fleetProgram returns the functions of the command line that the commands of
// fleets use.
func (a *app) fleetProgram() *fleet.Program {
	return &fleet.Program{
		Version: buildVersion(), Token: a.token, Stdout: a.Text(), Say: a.Say, Tell: a.tellJob,
		Common:  isCommon,
		Confine: func() { a.enter(&common{}, sandbox.Needs{Network: true, Files: true}) },
		Shipped: func(name string) bool { return ours(name) != "" },
		Script:  func(word string) bool { _, err := find(word); return err == nil },
		Ask: func(asker *fleet.Asker, words []string) error {
			a.asker = asker
			return a.script(words)
		},
		Exec: func(dir string, words []string) (err error) {
			if words, err = a.travelled(dir, words); err != nil {
				return err
			}
			return a.script(words)
		},
	}
}

// isCommon reports that name is an option which every script has.
func isCommon(name string) bool {
	name = strings.ReplaceAll(name, "_", "-")
	return slices.ContainsFunc(commonOptions(&common{}), func(f *flag) bool { return f.name == name })
}

// observe runs a script, here or on other machines.
func (a *app) observe(ctx context.Context, inv *invocation, cfg session.Config, out *resultfile.File) (
	session.Outcome, error) {
	switch {
	case inv.common.partials != "":
		inv.writeParts(&cfg, out)
		if cfg.Options.Recording.Path == "" { // no user of this machine watches the run
			usualBudget(&cfg, 0, cfg.Messages)
		}
	case a.asker != nil:
		q, err := inv.question(&cfg, a)
		if err == nil {
			defer a.asker.Close()
			err = a.asker.Connect(ctx, &cfg) // starts ssh, so before the sandbox
		}
		if err == nil && cfg.Confine != nil { // partial results come from machines that could be hostile
			err = cfg.Confine(session.Confinement{Names: true, Files: true})
		}
		if err != nil {
			return session.Outcome{Status: -1}, err
		}
		return a.asker.Run(ctx, q)
	}
	return session.Run(ctx, cfg)
}

// writeParts makes the session write partial results.
func (inv *invocation) writeParts(cfg *session.Config, out *resultfile.File) {
	w := mergeable.NewWriter(out)
	w.Script = inv.sum()
	w.Host, _ = os.Hostname() // the asker replaces it by the host's name in the fleet
	o := &cfg.Options
	w.Interval = o.Interval
	o.Aligned, o.Show.Whole = true, true
	o.Stacks.Profiles = o.Stacks.Profiles || inv.common.partials == "stacks"
	cfg.Hooks.Parts = w.Parts()
	cfg.Output = func(clock func(event.Time) time.Time) (render.Renderer, error) {
		return w, errors.Join(out.Begin(), w.Open(clock))
	}
}

// question makes the request that other machines get.
func (inv *invocation) question(cfg *session.Config, a *app) (*fleet.Question, error) {
	if inv.module == nil || len(inv.workload) > 0 {
		return nil, usagef("fleet run", inv.name, "other machines start no commands, and run no -c").
			WithHint("name a profiler: ppscript fleet run syscalls -i 1s")
	}
	var options []fleet.Option
	var args []string
	for _, f := range inv.flags.list {
		if len(f.texts) > 0 {
			options = append(options, fleet.Option{Name: f.name, Values: f.texts, Bare: f.metavar == "",
				Own: f.own})
		}
	}
	if inv.values != nil {
		args = inv.arguments
	}
	name := inv.name
	if ours(name) == "" {
		name = filepath.Base(name)
	}
	request, err := fleet.NewRequest(name, options, args, isCommon)
	if err != nil {
		return nil, err
	}
	bundle, err := inv.bundle(&a.libs, !a.asker.ByShell())
	if err != nil {
		return nil, err
	}
	o := &cfg.Options
	return &fleet.Question{Request: request, Reports: cfg.Reports, Script: inv.sum(),
		Bundle: bundle, Config: cfg,
		Stacks: len(o.Stacks.List()) > 0 || o.Stacks.Profiles,
		JSON:   inv.common.render.Format == "json"}, err
}

// bundle packs a script that other machines do not have, signed or not; nil if it comes with ppscript.
func (inv *invocation) bundle(libs *libraries, signed bool) (*fleet.Bundle, error) {
	if ours(inv.name) != "" || strings.HasPrefix(inv.name, "@stdlib//") {
		return nil, nil
	}
	file, err := find(inv.name)
	if err != nil {
		return nil, err
	}
	if strings.Contains(file, "//") {
		return nil, usagef("fleet run", inv.name, "scripts of libraries do not travel by themselves").
			WithHint("load it in a file of yours, and sign that: ppscript sign KEY FILE.star")
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	b, err := fleet.NewBundle(file, inv.host.Files(), libs.Texts, libs.As)
	if err == nil && signed {
		err = b.Vouch(file)
	}
	return b, err
}

// travelled runs a script that another machine sent in a bundle. words are its options.
func (a *app) travelled(dir string, words []string) ([]string, error) {
	main, resolve, err := fleet.OpenBundle(dir)
	a.libs.Only = resolve
	return append([]string{main}, words...), err
}

// sum is the SHA-256 of all code of a script: its own files, and the shipped files that it loads. It
// does not depend on where the files are.
func (inv *invocation) sum() [sha256.Size]byte {
	all := sha256.New()
	var sums []string
	for _, one := range inv.host.Files() {
		sums = append(sums, string(one[:]))
	}
	slices.Sort(sums)
	for _, one := range sums {
		all.Write([]byte(one))
	}
	own := stdlib.Sum()
	all.Write(append(own[:], ours(inv.name)...))
	return [sha256.Size]byte(all.Sum(nil))
}

// tellJob writes a line about a fleet's job to the machine's journal.
func (a *app) tellJob(j *fleet.Job, began time.Time, frames uint64, failed error) {
	e := journal.New(buildVersion(), append([]string{"fleet", "run"},
		strings.Fields(j.String())...), nil)
	e.Type, e.Began, e.Seconds = "fleet", began, time.Since(began).Seconds()
	e.Asker, e.Job = j.By, j.ID
	if failed != nil {
		e.Error = failed.Error()
	}
	if err := journal.Open(journal.Socket).Tell(e); err != nil {
		a.Say("no entry was written to the journal: " + err.Error())
	}
}
