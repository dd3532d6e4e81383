package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppscript/bpf/hookcost"
	"ppscript/cmd/ppscript/recording"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/session"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/system/sandbox"
	"ppscript/runtime/system/workload"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file records events into a perf.data file. It is the one command that
// needs no script and no plan: records go from the rings to the file as they
// are.

func recordCommand(a *app) *cobra.Command {
	fl, how, flying := recordFlags()
	c := &cobra.Command{
		Use:   "record [-e EVENT,...] [-o FILE] [options] [-- command]",
		Short: "Record events into a perf.data file",
		Long: `Records events into a file that --input, perf script and perf report read. It stops with the command, with Ctrl-C, or after
--duration. Without -e it samples where the CPUs compute. -o - writes to a pipe, as perf record does. With --flight it
keeps the newest events in memory, and writes the last seconds to a file each time something happens.`,
		Example: `    ppscript record -e sched:sched_switch -o sched.data -- sleep 1
    ppscript --input sched.data trace -e sched:sched_switch
    ppscript record -F 99 -a -g -- sleep 10
    ppscript record --flight 10s -e 'sched:*' -a --when 'syscalls --than 10ms' -o slow.data
    ppscript record -e sched:sched_switch -o - | ppscript --input - top -e sched:sched_switch -i 1s`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := noCommand(args, c.ArgsLenAtDash() == 0); err != nil {
				return err
			}
			return record(a, fl, how, flying, args)
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().SortFlags = false
	for _, f := range fl.list {
		p := c.Flags().VarPF(f, f.name, f.short, f.help)
		if f.metavar == "" {
			p.NoOptDefVal = "true"
		}
		_ = c.RegisterFlagCompletionFunc(f.name,
			func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
				return completeValue(f, word)
			})
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		help := &flag{name: "help", short: "h", group: groupOther, help: "show this help"}
		a.helpError = commandHelp(&a.Console, c, append(fl.list, help))
	})
	return c
}

// recordFlags holds the common options that apply to a recording, and its own.
func recordFlags() (*flags, *recording.Sampling, *flight) {
	fl := &flags{set: pflag.NewFlagSet("", pflag.ContinueOnError), common: &common{}}
	how := &recording.Sampling{}
	fl.list = []*flag{
		{name: "event", short: "e", metavar: "EVENT,...", kind: anEvent, help: "events to record: sys:name/filter/,...", deflt: "cycles, or cpu-clock where the CPU has no counters"},
		{name: "output", short: "o", metavar: "FILE", kind: aPath, read: readPath(&fl.common.output), help: "the recording; - is standard output, and a pipe is written as it comes", deflt: "perf.data"},
		{name: "freq", short: "F", metavar: "HZ", read: readCount(&how.Freq, 1, "write -F 99"), help: "sample so many times a second"},
		{name: "count", short: "c", metavar: "N", read: readCount(&how.Period, 1, "write -c 1000"), help: "sample every N occurrences, or ns of a clock"},
		{name: "g", short: "g", read: readFlag(&how.Stack), help: "with call stacks, as --call-graph fp"},
		{name: "call-graph", metavar: "HOW", choices: []string{"fp", "dwarf"}, read: readCallGraph(how), help: "with call stacks: fp (frame pointers), dwarf, dwarf,BYTES"},
		{name: "no-buildid-cache", short: "N", help: "do not keep the files that samples hit in ~/.debug, where perf archive looks for them"},
		{name: "all-cpus", group: groupTarget, read: readFlag(&fl.common.target.System), help: "perf's name of --system"},
		{name: "all-cgroups", read: readFlag(&how.Cgroups), help: "with the cgroup of each sample: for its container, pod and unit"},
		{name: "data", short: "d", read: readFlag(&how.Addresses), help: "with the address that each sample is about, as of page faults"},
		{name: "branch-any", short: "b", read: readFlag(&how.Branches), help: "with the branches that the CPU took before each sample, for perf script and perf report"},
		{name: "all-user", read: only(how, "u"), help: "only what happens in user code, as -e EVENT:u"},
		{name: "all-kernel", read: only(how, "k"), help: "only what happens in the kernel, as -e EVENT:k"},
		{name: "cgroup", short: "G", metavar: "NAME,...", group: groupTarget, read: fl.common.readCgroups, help: "perf's name of --cgroups"},
		{name: "no-inherit", short: "i", group: groupTarget, read: func(*reader, *flag) { fl.common.target.Inherit = perf.No }, help: "perf's name of --inherit=no"},
		{name: "timestamp", short: "T", help: "accepted, as perf's: samples always have their time"},
		{name: "period", short: "P", help: "accepted, as perf's: samples always have their period"},
		{name: "raw-samples", short: "R", help: "accepted, as perf's: tracepoints always have their fields"},
		{name: "compress", short: "z", help: "compress with zstd"},
	}
	fl.list = slices.Insert(fl.list, 1, filterFlag(fl.list[0]))
	flying := &flight{}
	fl.list = append(fl.list, flightFlags(flying)...)
	for _, f := range commonOptions(fl.common) {
		if f.name == "mmap-pages" {
			f.deflt = strconv.Itoa(recording.UsualPages)
		}
		if f.recorded {
			fl.list = append(fl.list, f)
		}
	}
	return fl, how, flying
}

var errDuration = errors.New("the time of --duration is over")

func record(a *app, fl *flags, how *recording.Sampling, flying *flight, command []string) (err error) {
	if err := fl.filter(); err != nil {
		return err
	}
	c, err := readCommon(fl, command)
	if err != nil {
		return err
	}
	a.Quiet = c.quiet
	c.sayOwners(a.Say)
	if c.output == "" {
		c.output = "perf.data"
	}
	if err := errors.Join(how.Check(), flying.check(c.output)); err != nil {
		return err
	}
	events := fl.texts("event")
	if len(events) == 0 {
		events = recording.UsualEvents()
	}
	base := c.recorded()
	if base.Pages == 0 && flying.window > 0 {
		base.Pages = recording.RingPages(flying.window)
	}
	cfg, err := recording.Config(events, *how, base, a.Say)
	if err != nil {
		return err
	}
	cfg.Overwrite = flying.window > 0
	if !cfg.Overwrite {
		// Events come as soon as perf.Open returns, while the list of running programs is
		// still being written to the file, which takes half a second on a busy machine.
		cfg.Spool = spoolBytes
	}
	flying.holds(c)
	cfg.Warn = warner(&a.Console, c.options.Verbose)
	ctx, w := a.watchSignals(nil)
	defer w.close()
	w.run(nil)
	w.dog.LimitTo(c.options.Limits.Duration)
	w.at("open the events")
	src, err := perf.Open(ctx, cfg)
	if err != nil {
		return w.blame(err)
	}
	defer func() {
		w.at("close the events")
		err = errors.Join(err, src.Close())
	}()
	w.at("begin the recording " + c.output)
	// --duration counts from the first event: opening a pipe may have to wait for its reader.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	rest := func() {}
	if c.options.Limits.Duration > 0 {
		over := time.AfterFunc(c.options.Limits.Duration, func() { stop(errDuration) })
		rest = func() { over.Reset(c.options.Limits.Duration) }
	}
	opt := recording.Options{Path: c.output, Clock: cfg.Clock, Compress: len(fl.texts("compress")) > 0}
	if c.options.Verbose > 0 {
		for _, line := range src.Describe() {
			a.Say(line)
		}
	}
	if flying.window > 0 {
		rest()
		f, err := flying.record(ctx, a, w, src, opt, c)
		if err != nil {
			return w.blame(err)
		}
		a.Say(fmt.Sprintf("%s: files written: %d", c.output, f.Files()))
		return recordStatus(a, w, src, c, command, f.Lost())
	}
	hidden := hookcost.WatchMisses(perf.Descriptors(src))
	defer hidden.Close()
	r, err := recording.New(ctx, src, opt)
	if err != nil {
		return w.blame(err)
	}
	rest()
	if c.noSandbox {
		a.sayOpen()
	}
	a.enter(c, sandbox.Needs{Writes: []string{filepath.Dir(c.output)}, Processes: true,
		Command: c.target.Workload != nil})
	w.at(session.Observing)
	err = r.Loop(ctx)
	w.at("end the recording " + c.output)
	missing := hidden.Lost()
	var kept []perfdata.BuildID
	if err == nil {
		kept, err = r.Identify()
	}
	if err := r.Finish(err); err != nil {
		return err
	}
	if len(fl.texts("no-buildid-cache")) == 0 && len(kept) > 0 {
		dir, err := recording.KeepInCache(kept)
		if err != nil {
			a.Say("not all files that were hit are kept in " + dir + ": " +
				strings.ReplaceAll(err.Error(), "\n", ", "))
		} else if c.options.Verbose > 0 && dir != "" {
			a.Say("the files that were hit are kept in " + dir)
		}
	}
	a.Say(r.Summary())
	say := func(format string, args ...any) { a.Say(fmt.Sprintf(format, args...)) }
	hidden.Tell(say)
	hidden.TellHiding(say, "")
	return recordStatus(a, w, src, c, command, r.Lost()+missing)
}

// spoolBytes bounds the records that wait in memory while the file cannot be
// written, in bytes.
const spoolBytes = 64 << 20

// recordStatus turns the end of a recording into the exit status.
func recordStatus(a *app, w *watch, src *perf.Source, c *common, command []string, lost uint64) error {
	var status error
	if st, ok := src.WorkloadStatus(); ok && !w.interrupted() {
		code, signal := workload.ExitStatus(st)
		status = a.commandEnded(command[0], code, signal)
	}
	if c.strict && lost > 0 {
		return exitError(exitLost)
	}
	return status
}

// only reads --all-user and --all-kernel, which leave out the other half of the events.
func only(how *recording.Sampling, modifier string) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		if how.Only != "" && how.Only != modifier {
			r.fail(usagef("option", "--"+f.name, "--all-user and --all-kernel leave nothing").
				WithHint("give one of them"))
		}
		how.Only = modifier
	}
}

// readCallGraph reads --call-graph.
func readCallGraph(how *recording.Sampling) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		text, _ := f.last()
		if err := how.ReadCallGraph(text); err != nil {
			r.fail(err)
		}
	}
}

// recorded returns the settings of a recording from the common options.
func (c *common) recorded() perf.Config {
	o := &c.options.Reading
	cfg := perf.Config{Target: c.target, Pages: o.Pages, Watermark: o.Watermark}
	if c.options.Clock.Monotonic {
		cfg.Clock = perf.ClockMonotonic
	}
	return cfg
}

// warner prints which events package perf leaves out. Events that only matched a pattern are
// printed only with -v.
func warner(con *console.Console, verbose int) func(error) {
	return func(err error) {
		if left := (*perf.LeftOut)(nil); verbose > 0 || !errors.As(err, &left) {
			con.Say(err.Error())
		}
	}
}
