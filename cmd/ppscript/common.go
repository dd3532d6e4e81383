package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppscript/cmd/ppscript/fleet/peers"
	"ppscript/cmd/ppscript/fleet/token"
	"ppscript/cmd/ppscript/permit"
	"ppscript/cmd/ppscript/remote"
	outputs "ppscript/runtime/output"
	"ppscript/runtime/output/live"
	"ppscript/runtime/output/render"
	"ppscript/runtime/session"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/memory"
	"ppscript/runtime/system/workload"
	"ppscript/runtime/text/unit"
)

// common holds the checked values of the options that every script has.
type common struct {
	targetFlags
	options session.Options

	input, output string
	inputs        []string // all of them
	token         string   // the secret of --token-file
	tls           peers.Files
	extra         extraRights

	render render.Options
	aside
	strict     bool
	quiet      int
	reports    uint64 // the run ends after so many reports of -i; 0 means no limit
	orderNoted bool
	noSandbox  bool
}

// extraRights lists the rights of a script beyond the names on the command line.
type extraRights struct {
	files, peers []string // files to write, addresses to talk to
	nothing      bool     // --look-only
	forOthers    bool
}

// targetFlags is the target that the flags name.
type targetFlags struct {
	target perf.Target
	// owners are containers, pods and units that are observed by their processes, not by their
	// cgroups.
	owners []string
}

// aside has the outputs for results other than standard output.
type aside struct {
	sinks      []outputs.Opener // outputs that options name
	linesAside bool             // one of them takes the lines of events
	page       page
	remote     remote.Options
	// baseline is the file of earlier results, with which the results of this run are compared; ""
	// compares nothing.
	baseline string
	// partials says which results are written as partial results; "" writes none.
	partials string
}

// page holds the values of the options for web pages that show a run.
type page struct {
	http, html, token string
	// server serves the page of --http, and what other outputs add to it; nil without the option.
	server *live.Server
}

// any reports that a page was asked for, served or written to a file.
func (p *page) any() bool { return p.http != "" || p.html != "" }

// openers returns the functions that open these outputs for a run of a script. say prints messages
// about what was sent; it may be called from any goroutine.
func (s *aside) openers(a *app, script string, say func(line string)) ([]outputs.Opener, error) {
	var server remote.Handler
	if s.page.server != nil {
		server = s.page.server
	}
	more, err := s.remote.Sinks(script, server, say)
	if err != nil {
		return nil, err
	}
	list := append(slices.Clip(s.sinks), more...)
	if s.page.server != nil {
		list = append(list, s.page.server.Opener(func(line string) {
			fmt.Fprintln(a.Stderr, "ppscript: "+line)
		}))
	}
	if s.page.html != "" {
		list = append(list, live.SnapshotOpener(s.page.html))
	}
	return list, nil
}

// hidesLines reports that events go to a file alone, and no line is printed for each.
func (c *common) hidesLines() bool { return c.output == "" && c.render.Format == "" }

// readCommon checks the common options and the command, so that mistakes are
// reported before anything is opened.
func readCommon(fs *flags, command []string) (*common, error) {
	c := fs.common
	r := &reader{plain: fs.perfprof}
	for _, f := range fs.list {
		if f.read != nil && len(f.texts) > 0 {
			f.read(r, f)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(command) > 0 {
		c.target.Workload = &workload.Command{Args: command}
	}
	return c, c.check()
}

// check is an error if options contradict each other.
func (c *common) check() error {
	o := &c.options
	if c.reports > 0 {
		if o.Interval <= 0 {
			return usagef("option", "--reports", "there is no interval").WithHint("add -i 1s")
		}
		if o.Limits.Duration > 0 {
			return usagef("option", "--reports", "--duration is given too").WithHint("give one of them")
		}
		o.Limits.Duration = o.Interval * time.Duration(c.reports)
	}
	switch {
	case o.Cost.EvalCPUs != nil && o.Cost.EvalPIDs != nil:
		return usagef("option", "--perfeval-pids", "--perfeval-cpus is given too").
			WithHint("give one of them")
	case c.baseline != "" && c.partials != "":
		return usagef("option", "--baseline", "--partials is given too, and shows no results").
			WithHint("write parts first: ppscript diff BEFORE AFTER compares them")
	case o.Stacks.FlameBase != "" && o.Stacks.FlameGraph == "":
		return usagef("option", "--flame-base",
			"there is no picture").WithHint("add --flame-graph FILE.svg")
	case o.Clock.TSC && (o.Clock.KVM != "" || o.Clock.Monotonic) || o.Clock.KVM != "" && o.Clock.Monotonic:
		return usagef("option", "--tsc", "only one clock is possible").
			WithHint("give one of --tsc, --kvmclock, --monotonic")
	}
	c.linesAside = c.linesAside || c.page.any()
	if c.page.http != "" {
		c.page.server = live.NewServer(c.page.http, c.page.token)
	} else if c.page.token != "" {
		return usagef("option", "--http-token", "there is no page").WithHint("add --http 127.0.0.1:8080")
	}
	err := c.remote.Check()
	if err != nil {
		return err
	}
	if o.Reading.TLS, err = c.tls.Open(); err != nil {
		return err
	}
	o.Show.Whole = c.page.http != "" || c.remote.OTLP != ""
	o.Stacks.Profiles = c.remote.Profiles()
	if err := c.checkInput(); err != nil {
		return err
	}
	if err := c.checkTarget(); err != nil {
		return err
	}
	_, err = render.New(io.Discard, c.render)
	return err
}

// checkTarget is an error if options about the target contradict each other. If one of them is
// given, a command only says how long to run, as in perf.
func (c *common) checkTarget() error {
	t := &c.target
	kinds := t.Named()
	if w := t.Workload; w != nil {
		if err := checkProgram(w.Args[0], kinds); err != nil {
			return err
		}
	}
	named := slices.DeleteFunc(kinds, func(kind string) bool { return kind == perf.NamedCommand })
	switch {
	case len(named) > 1:
		return usagef("attach", "target", "got %s", strings.Join(named, " and ")).
			WithHint("give one of -p, -t and --cgroups (or --container, --pod, --unit)")
	case t.System && len(named) > 0:
		return usagef("option", "--system", "%s is given too", named[0]).WithHint("leave one of them out")
	}
	t.System = t.Workload != nil && (t.System || len(named) > 0)
	return nil
}

// checkInput is an error if options cannot be used with a recording, or without
// one.
func (c *common) checkInput() error {
	t, o := &c.target, &c.options
	if c.input == "" {
		for _, x := range []struct {
			option string
			given  bool
		}{{"--from", o.Recording.From.IsSet()}, {"--to", o.Recording.To.IsSet()}} {
			if x.given {
				return usagef("option", x.option, "it is a time within a recording, and none is read").
					WithHint("add --input FILE, or bound the run with --duration")
			}
		}
		return nil
	}
	if o.Reading.Engine == "bpf" {
		return usagef("option", "--engine", "bpf runs in the kernel, and a recording is read").
			WithHint("leave out --engine")
	}
	if o.Limits.SamplingLimit > 0 || o.Cost.EvalCPUs != nil || o.Cost.EvalPIDs != nil {
		return usagef("option", "--input",
			"--sampling-limit and --perfeval-* are about live events, not about a recording").
			WithHint("leave that out, or observe the kernel")
	}
	for _, x := range []struct {
		given bool
		what  string
	}{{t.PIDs != nil, "-p"}, {t.TIDs != nil, "-t"}, {t.CPUs != nil, "-C"}, {t.Cgroups != nil, "--cgroups"},
		{t.System, "--system"}, {t.Inherit != perf.Default, "--inherit"}, {o.Clock.Monotonic,
			"--monotonic"}, {t.Workload != nil, "a command"}} {
		if x.given {
			return usagef("option", "--input", "a recording has no target, and %s is given", x.what).
				WithHint("leave out %s; what to keep of a recording is a filter's job", x.what)
		}
	}
	return nil
}

func (c *common) readOrderMemory(r *reader, f *flag) {
	text, _ := f.last()
	n, err := unit.ParseSize(text)
	if err == nil && (n < 1<<16 || n > 1<<40) {
		err = fmt.Errorf("got %s, want 64k at least", text)
	}
	if err != nil {
		r.fail(usagef("option", "--order-mem", "%w",
			err).WithHint("write --order-mem 64m, or leave it out"))
	}
	c.options.Reading.OrderBytes = int(n)
}

func (c *common) readMemory(r *reader, f *flag) {
	text, _ := f.last()
	n, err := unit.ParseSize(text)
	if err == nil && (n < memory.Least || n > 1<<40) {
		err = fmt.Errorf("got %s, want %s at least", text, unit.Size(memory.Least))
	}
	if err != nil {
		r.fail(usagef("option", "--memory", "%w", err).WithHint("write --memory 200m, or leave it out"))
	}
	c.options.Limits.Memory = n
}

func (c *common) readAllow(r *reader, f *flag) {
	var err error
	if c.extra.files, c.extra.peers, err = permit.ReadAllow(f.texts); err != nil {
		r.fail(err)
	}
}

func (c *common) readLookOnly(r *reader, f *flag) {
	if c.extra.nothing = r.on(f); !c.extra.nothing {
		r.fail(usagef("option", "--look-only", "it cannot be taken back").WithHint("leave it out"))
	}
}

func (c *common) readTokenFile(r *reader, f *flag) {
	path, err := r.path(f), error(nil)
	if path == "" {
		return
	}
	if c.token, err = token.Read(path); err != nil {
		r.fail(err)
	}
}

func (c *common) readPageToken(r *reader, f *flag) {
	path, err := r.path(f), error(nil)
	if path == "" {
		return
	}
	if c.page.token, err = token.Read(path); err != nil {
		r.fail(err)
	}
}

func (c *common) readHTTP(r *reader, f *flag) {
	if c.page.http, _ = f.last(); c.page.http == "" {
		r.fail(usagef("option", "--http", "the address is empty").WithHint("write --http 127.0.0.1:8080"))
	}
}

func (c *common) readKVMClock(r *reader, f *flag) {
	if c.options.Clock.KVM, _ = f.last(); c.options.Clock.KVM == "" {
		r.fail(usagef("option", "--kvmclock",
			"no virtual machine is named").WithHint("write --kvmclock PID"))
	}
}

func (c *common) readClockOffset(r *reader, f *flag) {
	text, _ := f.last()
	n, err := strconv.ParseUint(text, 0, 64)
	if c.options.Clock.Offset = int64(n); err != nil {
		n, err := strconv.ParseInt(text, 0, 64)
		if c.options.Clock.Offset = n; err != nil {
			r.fail(usagef("option", "--clock-offset", "got %q, want a number of ns", text).
				WithHint("write --clock-offset 0x1ba6ce192"))
		}
	}
}

// readFlameGraph reads where stacks go; like perf-prof, an empty name is stdout.
func (c *common) readFlameGraph(_ *reader, f *flag) {
	if c.options.Stacks.FlameGraph, _ = f.last(); c.options.Stacks.FlameGraph == "" ||
		c.options.Stacks.FlameGraph == "-" {
		c.options.Stacks.FlameGraph = session.Stdout
	}
}

func (c *common) readSymRoot(r *reader, f *flag) {
	c.options.Symbols.Root = r.path(f)
	r.directories(c.options.Symbols.Root)
}

func readSymbols(to *session.Symbols, add func(*session.Symbols, string) error) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		for _, text := range f.texts {
			if err := add(to, text); err != nil {
				r.fail(err)
			}
		}
	}
}

func (c *common) readDebugDirs(r *reader, f *flag) {
	c.options.Symbols.DebugDirs = f.texts
	r.directories(f.texts...)
}

func (r *reader) directories(dirs ...string) {
	for _, dir := range dirs {
		if st, err := os.Stat(dir); dir != "" && (err != nil || !st.IsDir()) {
			r.fail(usagef("option", dir, "no such directory").
				WithHint("give a directory with the files of programs"))
		}
	}
}
