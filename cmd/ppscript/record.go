package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/kernel"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
	"ppscript/runtime/session"
	"ppscript/runtime/tracefs"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file records events into a perf.data file. It is the one command that
// needs no script and no plan: records go from the rings to the file as they
// are.

func (a *app) recordCommand() *cobra.Command {
	fl := recordFlags()
	c := &cobra.Command{
		Use: "record -e EVENT,... [-o FILE] [options] [-- command]", Short: "Record events into a perf.data file",
		Long: `Records events into a file that --input and perf script read. It stops with the command, with Ctrl-C, or after
--duration.`,
		Example: "    ppscript record -e sched:sched_switch -o sched.data -- sleep 1\n    ppscript --input sched.data trace -e sched:sched_switch",
		RunE: func(c *cobra.Command, args []string) error {
			if err := noCommand(args, c.ArgsLenAtDash() == 0); err != nil {
				return err
			}
			return a.record(fl, args)
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().SortFlags = false
	for _, f := range fl.list {
		p := c.Flags().VarPF(f, f.name, f.short, f.help)
		if f.metavar == "" {
			p.NoOptDefVal = "true"
		}
		_ = c.RegisterFlagCompletionFunc(f.name, func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return completeValue(f, word)
		})
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		a.commandHelp(c)
		help := &flag{name: "help", short: "h", group: groupOther, help: "show this help"}
		printFlags(a.stdout, append(fl.list, help), terminalWidth(a.stdout))
	})
	return c
}

// recordFlags are those of the common options that a recording has, and its
// own.
func recordFlags() *flags {
	fl := &flags{set: pflag.NewFlagSet("", pflag.ContinueOnError)}
	fl.list = []*flag{
		{name: "event", short: "e", metavar: "EVENT,...", events: true, help: "events to record: sys:name/filter/,..."},
		{name: "output", short: "o", metavar: "FILE", file: true, help: "the recording", deflt: "perf.data"},
		{name: "compress", short: "z", help: "compress with zstd"},
	}
	keep := "cpus pids tids cgroups inherit system duration mmap-pages watermark monotonic strict verbose quiet "
	for _, f := range commonFlags() {
		if f.name == "mmap-pages" {
			f.deflt = strconv.Itoa(recordPages)
		}
		if strings.Contains(keep, f.name+" ") {
			fl.list = append(fl.list, f)
		}
	}
	return fl
}

func (a *app) record(fl *flags, command []string) (err error) {
	c, err := readCommon(fl, command)
	if err != nil {
		return err
	}
	a.quiet = c.quiet
	if c.output == "" {
		c.output = "perf.data"
	}
	cfg, err := recordConfig(fl.texts("event"), c)
	if err != nil {
		return err
	}
	cfg.Warn = func(err error) { a.say(err.Error()) }
	ctx, w := a.watchSignals(nil)
	defer w.close()
	w.run(nil)
	w.dog.limitTo(c.duration)
	w.at("open the events")
	src, err := perf.Open(ctx, cfg)
	if err != nil {
		return w.blame(err)
	}
	defer func() {
		w.at("close the events")
		err = errors.Join(err, src.Close())
	}()
	if c.verbose > 0 {
		for _, line := range src.Describe() {
			a.say(line)
		}
	}
	w.at("begin the recording " + c.output)
	r, err := newRecording(ctx, src, c, cfg.Clock, len(fl.texts("compress")) > 0)
	if err != nil {
		return err
	}
	if c.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.duration)
		defer cancel()
	}
	w.at(session.Observing)
	err = r.loop(ctx)
	w.at("end the recording " + c.output)
	if err := errors.Join(err, r.file.Finish()); err != nil {
		return err
	}
	a.say(r.summary(c.output))
	var status error
	if st, ok := src.WorkloadStatus(); ok && !w.interrupted() {
		code, signal := perf.ExitStatus(st)
		status = a.commandEnded(command[0], code, signal)
	}
	if c.strict && r.lost > 0 {
		return exitError(exitLost)
	}
	return status
}

// recordPages is the size of rings: writing a file makes pauses that reading
// does not.
const recordPages = 512

// recordConfig finds the events.
func recordConfig(events []string, c *common) (perf.Config, error) {
	cfg := perf.Config{
		Target: c.target, Pages: c.pages, Watermark: c.watermark, SampleCPU: true,
		SideBand: perf.SideBand{Comm: true, Mmap: true, Task: true},
		Members:  []event.Fact{event.FactTime, event.FactTID, event.FactCPU, event.FactPeriod},
	}
	if c.monotonic {
		cfg.Clock = perf.ClockMonotonic
	}
	if cfg.Pages == 0 {
		cfg.Pages = recordPages
	}
	var tfs *tracefs.FS
	for _, text := range events {
		sources, err := plan.ParseEvents(text, kernel.ParseCPUList)
		if err != nil {
			return cfg, err
		}
		for _, s := range sources {
			var schemas []*event.Schema
			if s.Kind == plan.Tracepoint {
				if tfs == nil {
					if tfs, err = tracefs.Find(); err != nil {
						return cfg, err
					}
					cfg.Tracefs = tfs.Root()
				}
				schemas, err = tracepoints(tfs, s.FullName())
			} else {
				var schema *event.Schema
				schema, err = counted(s)
				schemas = append(schemas, schema)
			}
			if err != nil {
				return cfg, err
			}
			for _, schema := range schemas {
				cfg.Events = append(cfg.Events, perf.EventConfig{Schema: schema, Label: s.Alias, Filter: s.Filter, CPUs: s.CPUs,
					Callchain: s.Stack, MaxStack: s.MaxStack})
				if s.Stack && !slices.Contains(cfg.Members, event.FactIP) {
					cfg.Members = append(cfg.Members, event.FactIP) // perf prints chains only of samples that have it
				}
			}
		}
	}
	if len(cfg.Events) == 0 {
		return cfg, usagef("record", "events", "none given").WithHint("add -e sched:sched_switch")
	}
	return cfg, nil
}

func counted(s *plan.Source) (*event.Schema, error) {
	switch s.Kind {
	case plan.Hardware:
		return perf.HardwareSchema(s.Name)
	case plan.Cache:
		return perf.CacheSchema(s.Name)
	case plan.Script:
		return nil, usagef("record", s.FullName(), "is not an event; want system:name").WithHint("list the events: ppscript list events")
	case plan.Probe:
		return nil, usagef("record", s.FullName(), "probes and breakpoints cannot be recorded yet").
			WithHint("observe them live: ppscript trace -e ...")
	}
	return perf.SoftwareSchema(s.Name)
}

func tracepoints(tfs *tracefs.FS, pattern string) ([]*event.Schema, error) {
	names, err := tfs.Match(pattern)
	if err != nil {
		return nil, err
	}
	var all []*event.Schema
	for _, n := range names {
		sys, name, _ := strings.Cut(n, ":")
		s, err := tfs.Schema(sys, name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
