package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ppscript/cmd/ppscript/recording"
	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/session"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/poll"
	"ppscript/runtime/system/sandbox"
	"ppscript/runtime/text/unit"
)

// This file has record --flight: rings keep the newest events, and a script that runs beside them
// decides when they are written to a file.

// flight holds the options of a flight recording.
type flight struct {
	window time.Duration // 0: all events are recorded
	most   uint64        // number of files to keep
	when   string        // a script with its options
}

// flightFlags declares the options of a flight recording.
func flightFlags(o *flight) []*flag {
	o.most = 16
	return []*flag{
		{name: "flight", metavar: "TIME", read: o.readWindow, help: "flight recorder: keep the newest events in memory, and write the last TIME of them to FILE.1, FILE.2, ... each time --when says so or SIGUSR2 comes"},
		{name: "when", metavar: "SCRIPT|EVENT", read: o.readWhen, help: "in quotes, an event: each one causes a file: 'oom:mark_victim', 'signal:signal_generate/sig==11/'; or a script with its options: each slow pair or event that it shows does: 'syscalls --than 10ms'"},
		{name: "flight-files", metavar: "N", read: readCount(&o.most, 1, "write --flight-files 5"), deflt: "16", help: "how many files stay; the oldest go"},
	}
}

func (o *flight) readWindow(r *reader, f *flag) {
	text, _ := f.last()
	ns, err := unit.ParseDuration(text, 0)
	if err == nil && ns <= 0 {
		err = fmt.Errorf("got %q, want how long to look back", text)
	}
	if err != nil {
		r.fail(usagef("option", "--flight", "%w", err).
			WithHint("write --flight 10s"))
	}
	o.window = time.Duration(ns)
}

func (o *flight) readWhen(_ *reader, f *flag) { o.when, _ = f.last() }

// check is an error if options contradict each other.
func (o *flight) check(output string) error {
	switch {
	case o.window == 0 && o.when != "":
		return usagef("option", "--when", "there is no --flight").WithHint("add --flight 10s")
	case o.window > 0 && output == "-":
		return usagef("option", "--flight", "standard output cannot take several files").
			WithHint("give a name: -o FILE")
	}
	return nil
}

// holds makes the observed command wait until the script is attached as well.
func (o *flight) holds(c *common) {
	if command := c.target.Workload; command != nil && o.when != "" {
		command.Openers = 2
	}
}

// record runs the flight recording on the events that src has opened.
func (o *flight) record(ctx context.Context, a *app, w *watch, src *perf.Source, opt recording.Options,
	c *common,
) (f *recording.Flight, err error) {
	f = &recording.Flight{Source: src, Options: opt, Window: o.window, Most: int(o.most), Say: a.Say}
	f.Begin()
	defer poll.Hear(w.dump, func() { f.Ask("SIGUSR2") })()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	settle := func() error { return nil }
	if o.when != "" {
		if settle, err = o.watch(ctx, stop, a, c, f.Ask); err != nil {
			return f, err
		}
	}
	if c.noSandbox {
		a.sayOpen()
	}
	asks := o.when != ""
	a.enter(c, sandbox.Needs{Writes: []string{filepath.Dir(c.output)}, Processes: true,
		Command: c.target.Workload != nil, Network: asks, Cgroups: asks, Kernel: asks})
	w.at(session.Observing)
	if err = f.Loop(ctx, settle); err != nil {
		_ = settle() // no more requests
	}
	return f, err
}

// watch runs the script of --when beside the recording. Each pair or event that the script shows
// requests a file. settle ends the script, and returns when all events that it saw are shown. If the
// script fails, it stops the recording, and settle returns the error. The observed command starts once
// both are attached.
func (o *flight) watch(ctx context.Context, stop func(), a *app, c *common, ask func(string)) (
	settle func() error, err error,
) {
	host, _, err := a.newHost()
	if err != nil {
		return nil, err
	}
	args, err := recording.Trigger(o.when)
	if err != nil {
		return nil, err
	}
	inv, err := a.invoke(host, args)
	if err != nil {
		return nil, err
	}
	reports, err := inv.reports()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(reports, recording.Shows) {
		return nil, usagef("option", "--when",
			"%s shows no pairs and no events, so no file would ever be written", args[0]).
			WithHint("let it show what is slow, for example: --when 'syscalls --than 10ms'")
	}
	t := c.target
	if t.Workload != nil {
		t.PIDs, t.Inherit, t.Workload = []int{t.Workload.PID()}, perf.Yes, nil
	}
	own := &inv.common.target
	if len(own.Named()) == 0 && own.CPUs == nil && own.Workload == nil && !own.System {
		*own = t
	}
	cfg, err := a.config(inv, reports)
	if err != nil {
		return nil, err
	}
	cfg.Output = func(func(event.Time) time.Time) (render.Renderer, error) {
		return recording.Asking(args[0], ask), nil
	}
	cfg.Messages = func(line string) { a.Say("--when: " + line) }
	cfg.Options.Cost.Started = budget.Started()
	attached := make(chan struct{})
	begun := sync.OnceFunc(func() { close(attached) })
	cfg.Stage = func(stage string) {
		if stage == session.Observing {
			begun()
		}
	}
	ctx, end := context.WithCancel(ctx)
	var failed error
	var running sync.WaitGroup
	running.Go(func() {
		_, err := session.Run(ctx, cfg)
		begun()
		switch {
		case err != nil && !errors.Is(err, context.Canceled):
			failed = err
			stop()
		case ctx.Err() == nil:
			a.Say("--when: the script has ended; from now on only SIGUSR2 causes files")
		}
	})
	settle = func() error {
		end()
		running.Wait()
		return failed
	}
	<-attached
	if command := c.target.Workload; command != nil {
		if err := command.Release(); err != nil {
			return nil, errors.Join(err, settle())
		}
	}
	return settle, nil
}
