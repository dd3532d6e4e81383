package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/kernel"
	"ppscript/runtime/perf"
	"ppscript/runtime/perfdata"
	"ppscript/runtime/plan"
	"ppscript/runtime/tracefs"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
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
	cfg, err := recordConfig(fl, c)
	if err != nil {
		return err
	}
	cfg.Warn = func(err error) { a.say(err.Error()) }
	ctx, w := watchSignals(nil)
	defer w.close()
	w.run(nil)
	src, err := perf.Open(ctx, cfg)
	if err != nil {
		return w.blame(err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if c.verbose > 0 {
		for _, line := range src.Describe() {
			a.say(line)
		}
	}
	r, err := newRecording(ctx, src, c, cfg.Clock, len(fl.texts("compress")) > 0)
	if err != nil {
		return err
	}
	if c.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.duration)
		defer cancel()
	}
	if err := errors.Join(r.loop(ctx), r.file.Finish()); err != nil {
		return err
	}
	a.say(r.summary(c.output))
	if st, ok := src.WorkloadStatus(); ok && st.ExitCode() != 0 {
		a.say(fmt.Sprintf("%s: %s", command[0], st))
	}
	if c.strict && r.lost > 0 {
		return exitError(exitLost)
	}
	return nil
}

// recordPages is the size of rings: writing a file makes pauses that reading
// does not.
const recordPages = 512

// recordConfig finds the events.
func recordConfig(fl *flags, c *common) (perf.Config, error) {
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
	for _, text := range fl.texts("event") {
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

// A recording is rings that are written to a file.
type recording struct {
	src           *perf.Source
	file          *perfdata.Writer
	path          string
	samples, lost uint64
	batch         []event.Event
	sampleType    uint64 // of all events: they share the members that ids have
}

func newRecording(ctx context.Context, src *perf.Source, c *common, clock perf.Clock, compress bool) (*recording, error) {
	opt := perfdata.WriteOptions{Compress: compress, Cmdline: os.Args, Version: "ppscript"}
	if clock == perf.ClockPerf {
		if at, wall, ok := perf.ReadClock(ctx, clock); ok {
			opt.Clock = perfdata.Clock{At: at, Wall: wall}
		}
	}
	file, err := perfdata.Create(c.output, opt)
	if err != nil {
		return nil, err
	}
	r := &recording{src: src, file: file, path: c.output, batch: make([]event.Event, 256)}
	for _, o := range src.Opened() {
		r.sampleType = o.Attr.Sample_type
		info := perfdata.StreamInfo{Attr: o.Attr, IDs: o.IDs, Name: "dummy:u"}
		if o.Stream != nil {
			info.Name, info.Schema = o.Stream.Label, o.Stream.Schema
		}
		if err := file.Add(info); err != nil {
			return nil, errors.Join(err, file.Finish())
		}
	}
	if err := file.Synthesize(nil); err != nil {
		return nil, errors.Join(err, file.Finish())
	}
	return r, nil
}

// loop writes until the target or ctx ends.
func (r *recording) loop(ctx context.Context) error {
	for {
		err := r.src.Poll(ctx, 100*time.Millisecond)
		over := errors.Is(err, io.EOF) || ctx.Err() != nil
		if err != nil && !over {
			return err
		}
		if ctx.Err() != nil {
			if err := r.src.Stop(); err != nil {
				return err
			}
			if err := r.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		if err := r.round(); err != nil || over {
			return err
		}
	}
}

// round writes what is in the rings.
func (r *recording) round() error {
	for _, ring := range r.src.Rings() {
		_, visible := ring.Bounds()
		for ring.Pos() < visible {
			n := ring.Read(r.batch, visible)
			for i := range r.batch[:n] {
				e := &r.batch[i]
				switch e.Kind {
				case event.Sample:
					r.samples++
				case event.Lost:
					r.lost += uint64(e.Count)
				}
				if e.Rec == nil {
					continue // made by the source, not by the kernel
				}
				rec := e.Rec
				if e.Kind == event.Lost && len(rec) == bareLost {
					rec = r.withID(e)
				}
				if err := r.file.Write(rec); err != nil {
					return err
				}
			}
			ring.Release()
			if n == 0 {
				break
			}
		}
	}
	return r.file.FinishedRound()
}

// bareLost is the size of a lost record that the source made of what the
// kernel counted at the end: it has no sample id, which perf asks of all
// records of such a recording.
const bareLost = 24

// withID completes such a record. Its members are in the order of struct
// sample_id in perf_event.h.
func (r *recording) withID(e *event.Event) []byte {
	rec := slices.Clone(e.Rec)
	le := binary.LittleEndian
	id := le.Uint64(rec[8:])
	for _, m := range []struct {
		bit   uint64
		value uint64
	}{{unix.PERF_SAMPLE_TID, 0}, {unix.PERF_SAMPLE_TIME, uint64(e.Time)}, {unix.PERF_SAMPLE_ID, id},
		{unix.PERF_SAMPLE_STREAM_ID, id}, {unix.PERF_SAMPLE_CPU, uint64(uint32(max(e.CPU, 0)))}, {unix.PERF_SAMPLE_IDENTIFIER, id}} {
		if r.sampleType&m.bit != 0 {
			rec = le.AppendUint64(rec, m.value)
		}
	}
	le.PutUint16(rec[6:], uint16(len(rec)))
	return rec
}

func (r *recording) summary(path string) string {
	s := fmt.Sprintf("%s: %d samples", path, r.samples)
	if st, err := os.Stat(path); err == nil {
		s += fmt.Sprintf(", %.1f MiB", float64(st.Size())/(1<<20))
	}
	if r.lost > 0 {
		s += fmt.Sprintf(", lost %d events: use larger rings, -m %d", r.lost, 4*recordPages)
	}
	return s
}
