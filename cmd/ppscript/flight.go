package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"ppscript/cmd/ppscript/recording"
	"ppscript/runtime/event"
	"ppscript/runtime/perf"
	"ppscript/runtime/poll"
	"ppscript/runtime/render"
	"ppscript/runtime/session"
	"ppscript/runtime/unit"
)

// This file is record --flight: rings that keep the newest events, and a script
// beside them that says when to write them to a file.

// A flight is the options of a flight recording.
type flight struct {
	window time.Duration // 0: all events are recorded
	most   uint64        // files that stay
	when   string        // a command line of a script
}

// flightFlags are the options.
func flightFlags(o *flight) []*flag {
	o.most = 16
	return []*flag{
		{name: "flight", metavar: "TIME", read: o.readWindow, help: "flight recorder: keep the newest events in memory, and write those of the last TIME to FILE.1, FILE.2, ... each time --when says so or SIGUSR2 comes"},
		{name: "when", metavar: "SCRIPT", read: o.readWhen, help: "a script with its options, in quotes: each slow pair or event that it shows has a file written: 'syscalls --than 10ms'"},
		{name: "flight-files", metavar: "N", read: readCount(&o.most, 1, "write --flight-files 5"), deflt: "16", help: "how many files stay; the oldest go"},
	}
}

func (o *flight) readWindow(r *reader, f *flag) {
	text, _ := f.last()
	ns, err := unit.ParseDuration(text, int64(time.Second))
	if err != nil || ns <= 0 {
		r.fail(usagef("option", "--flight", "got %q, want how long to look back", text).
			WithHint("write --flight 10s"))
	}
	o.window = time.Duration(ns)
}

func (o *flight) readWhen(_ *reader, f *flag) { o.when, _ = f.last() }

// check finds options that do not go together.
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

// record runs the flight on the events that src has open.
func (o *flight) record(ctx context.Context, a *app, w *watch, src *perf.Source, opt recording.Options,
	c *common,
) (f *recording.Flight, err error) {
	f = &recording.Flight{Source: src, Options: opt, Window: o.window, Most: int(o.most), Say: a.Say}
	f.Begin()
	defer poll.Hear(w.dump, func() { f.Ask("SIGUSR2") })()
	settle := func() error { return nil }
	if o.when != "" {
		if settle, err = o.watch(ctx, a, c, f.Ask); err != nil {
			return f, err
		}
	}
	w.at(session.Observing)
	return f, f.Loop(ctx, settle)
}

// watch runs the script of --when beside the recording; each pair and event that it
// shows asks. settle ends it, and returns when all that it saw is shown.
func (o *flight) watch(ctx context.Context, a *app, c *common, ask func(string)) (settle func() error,
	err error,
) {
	host, _, err := a.newHost()
	if err != nil {
		return nil, err
	}
	args, err := recording.Words(o.when)
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
			"%s shows no pairs and no events, so that nothing would ever be written", args[0]).
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
	cfg.Stage = func(string) {}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := session.Run(ctx, cfg)
		if ctx.Err() == nil && err != nil {
			a.Say("--when ended: " + err.Error())
		}
		ended <- err
	}()
	return func() error {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}
