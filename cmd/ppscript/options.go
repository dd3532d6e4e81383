package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"ppscript/cmd/ppscript/permit"
	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/cmd/ppscript/recording/symbolsource"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/output/metric"
	"ppscript/runtime/output/parquet"
	"ppscript/runtime/output/render"
	"ppscript/runtime/session"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/target/cgroup"
)

// Groups of options, in the order of --help-all.
const (
	groupTarget = "Target"
	groupRun    = "Run"
	groupOutput = "Output"
	groupOther  = "Other"
)

var engines = []string{"auto", "perf", "bpf", "interp"}

// commonOptions is the one table of the options that every script has: their
// names, their text in --help-all, and the members of c that they set.
func commonOptions(c *common) []*flag {
	var list []*flag
	for _, group := range []struct {
		name  string
		flags []*flag
	}{
		{groupTarget, c.targetOptions()}, {groupRun, c.runOptions()},
		{groupOutput, c.outputOptions()},
		{groupOther, c.otherOptions()},
	} {
		for _, f := range group.flags {
			f.group = group.name
			list = append(list, f)
		}
	}
	return list
}

func (c *common) targetOptions() []*flag {
	t := &c.target
	return []*flag{
		{name: "cpus", short: "C", metavar: "LIST", deflt: "all online", recorded: true, read: readCPUs(&t.CPUs),
			help: "CPUs to observe, such as 0-3,8"},
		{name: "pids", short: "p", metavar: "PID,...", recorded: true, read: readIDs(&t.PIDs, "process"),
			help: "processes to observe, with all their threads; a command then only says how long"},
		{name: "tids", short: "t", metavar: "TID,...", recorded: true, read: readIDs(&t.TIDs, "thread"),
			help: "threads to observe"},
		{name: "cgroups", metavar: "NAME,...", recorded: true, read: c.readCgroups,
			help: "cgroups to observe: names or patterns"},
		// This comes before the options that name containers and pods, which
		// use it.
		{name: "cri", metavar: "SOCKET", kind: aPath, deflt: "the sockets at the usual places", recorded: true, read: c.readCRI,
			help: "ask the runtime of containers at SOCKET for the names of containers and pods (CRI), and no other; no asks none"},
		{name: "container", metavar: "NAME,...", recorded: true, read: c.readOwners(cgroup.Container),
			help: "containers to observe: names, ids, or first digits of ids"},
		{name: "pod", metavar: "NS/NAME,...", recorded: true, read: c.readOwners(cgroup.Pod),
			help: "pods of this node to observe: by namespace and name, or uid"},
		{name: "unit", metavar: "NAME,...", recorded: true, read: c.readOwners(cgroup.Unit),
			help: "systemd units to observe: services, scopes, slices with all that is in them"},
		{name: "inherit", recorded: true, read: c.readInherit,
			help: "follow the children of what is observed"},
		{name: "ptrace", read: c.readInherit,
			help: "the same as --inherit: no process is stopped for it"},
		{name: "system", short: "a", recorded: true, read: readFlag(&t.System),
			help: "observe all CPUs, as without a target, while a command runs too"},
		{name: "input", metavar: "FILE", kind: aPath, read: c.readInput,
			help: "read a recording (perf.data, trace.dat) instead of the kernel; - is stdin; several are merged by time"},
	}
}

func (c *common) runOptions() []*flag {
	o := &c.options
	return []*flag{
		{name: "interval", short: "i", metavar: "TIME", deflt: "only at the end", read: readTime(&o.Interval),
			help: "report every TIME, such as 1s (perf-prof's profilers take numbers without a unit, ms); the time of a recording is its own"},
		{name: "duration", metavar: "TIME", recorded: true, read: readDuration(&o.Limits.Duration),
			help: "stop after TIME (numbers without a unit are s); the time of a recording is its own"},
		{name: "reports", metavar: "COUNT", read: readCount(&c.reports, 1, "leave it out for no limit"),
			help: "stop after COUNT reports of -i"},
		{name: "from", metavar: "WHEN", read: readMoment(&o.Recording.From),
			help: "leave out what a recording has before WHEN: 2s after its start, -2s before its end, 10:20:30, 2026-01-02T10:20:30Z, or seconds of its clock as printed"},
		{name: "to", metavar: "WHEN", read: readMoment(&o.Recording.To),
			help: "leave out what a recording has from WHEN on"},
		{name: "exit-N", short: "N", metavar: "COUNT", read: readCount(&o.Limits.ExitN, 0, "leave it out for no limit"),
			help: "stop after COUNT samples; where the result is lines, after COUNT events that are shown, or " +
				"whose stacks are written instead"},
		{name: "mmap-pages", short: "m", metavar: "PAGES", recorded: true, read: c.readPages, deflt: defaultPages(),
			help: "size of each ring in pages of 4 KiB, a power of two; where programs of the kernel keep what happens, for --detail of slow pairs, also how much of it each CPU keeps (else 8 MiB, 64 MiB together)"},
		{name: "watermark", metavar: "PERCENT", deflt: "50", recorded: true, read: readWatermark(&o.Reading.Watermark),
			help: "read rings when they are that full"},
		{name: "max-rows", metavar: "COUNT", deflt: "a million; 131072 where programs count", read: readCount(&o.Limits.Rows, 1, "write --max-rows 10000"),
			help: "rows of a table, histograms of a result, and stacks at most; what has further keys is evicted into one row, __other__, so that totals stay right"},
		{name: "memory", metavar: "SIZE", deflt: "a quarter of the machine's, or three quarters of the cgroup's, 2g at most", read: c.readMemory,
			help: "what the process may have: beyond it, new keys are counted as __other__, and the oldest waiting or kept events are dropped, which the result says; 64m at least"},
		{name: "sampling-limit", metavar: "COUNT", read: readCount(&o.Limits.SamplingLimit, 1, "use --sampling-limit 100000"),
			help: "stop when a CPU, or thread, sends more than COUNT events a second; with --perfeval-*, a CPU or thread of these options"},
		{name: "budget", metavar: "SHARE", read: readBudget(&o.Cost.Budget),
			help: "let observing cost at most SHARE of the time of all CPUs, such as 1%: beyond it, events are left out, and counts and sums are marked as estimates with a margin; off is no budget (docs/budget.md)"},
		{name: "cost", read: readFlag(&o.Cost.Show),
			help: "show what observing cost in each interval: ppscript's own CPU time, and the time that it added to the observed programs"},
		{name: "perfeval-cpus", metavar: "LIST", read: readCPUs(&o.Cost.EvalCPUs),
			help: "with each report, say how many of the events occurred on these CPUs, whatever the filters, and how many of them reached ppscript"},
		{name: "perfeval-pids", metavar: "PID,...", read: readIDs(&o.Cost.EvalPIDs, "process"),
			help: "the same for the threads that these processes have at the start"},
		{name: "monotonic", recorded: true, read: readFlag(&o.Clock.Monotonic),
			help: "stamp events with CLOCK_MONOTONIC"},
		{name: "engine", metavar: "ENGINE", choices: engines, deflt: "auto", read: readChoice(&o.Reading.Engine),
			help: "what runs the code that each event needs: " + strings.Join(engines, ", ")},
		{name: "order", read: readFlag(&c.orderNoted),
			help: "accepted, without effect: events are put in order wherever a script needs it"},
		{name: "order-mem", metavar: "SIZE", deflt: "256m, 8m", read: c.readOrderMemory,
			help: "memory for events from elsewhere (pull=, a pipe) while they are put in order, and for all slow receivers together (push=); the rings of this machine need none"},
		{name: "allow", metavar: "WHAT", read: c.readAllow,
			help: "let the script write files (write=DIR) and connect to addresses (net=ADDRESS) that it names itself; several with commas"},
		{name: permit.LookOnly, read: c.readLookOnly,
			help: "only look: refuse to write files, to send, to receive and to listen, even if the script or an option asks for it"},
		{name: permit.ForOthers, read: readFlag(&c.extra.forOthers),
			help: "the request comes from another machine: start no command, and read no named file but programs that every user may read; agents run scripts so"},
		{name: "require-signed", recorded: true, read: checkSigned,
			help: "run the script only if a key of --signers signed it, and neither it nor a file that it loads has changed since"},
		{name: "signers", metavar: "FILE", kind: aPath, recorded: true, read: checkSigned, deflt: sign.SignersFile,
			help: "the public keys whose signatures count"},
		{name: "token-file", metavar: "FILE", kind: aPath, read: c.readTokenFile,
			help: "the secret that both sides of push= and pull= must know where others can connect; else it is $PPSCRIPT_TOKEN"},
		{name: "tls-key", metavar: "FILE", kind: aPath, read: readPath(&c.tls.Key),
			help: "encrypt push= and pull= over networks (TLS), and prove who this side is with the key and certificate of FILE: ppscript tls new NAME"},
		{name: "tls-cert", metavar: "FILE", kind: aPath, read: readPath(&c.tls.Cert), deflt: "in the file of --tls-key",
			help: "the certificate of the key"},
		{name: "tls-peers", metavar: "FILE", kind: aPath, read: readPath(&c.tls.Peers),
			help: "trust these certificates: of other sides, or of authorities that signed them"},
		{name: "tsc", read: readFlag(&o.Clock.TSC),
			help: "times are the CPU's time stamp counter: tables are in thousands of cycles"},
		{name: "kvmclock", metavar: "VM", read: c.readKVMClock,
			help: "show times by a guest's clock. VM is the process of its monitor, or its UUID; waits until the guest's clock is updated"},
		{name: "clock-offset", metavar: "N", read: c.readClockOffset,
			help: "add N ns to the times of events"},
	}
}

func (c *common) outputOptions() []*flag {
	o := &c.options
	return []*flag{
		{name: "output", short: "o", metavar: "FILE", kind: aPath, read: readPath(&c.output),
			help: "write results to FILE; SIGUSR1 opens it again"},
		{name: "format", metavar: "FORMAT", choices: render.Formats(), deflt: render.Formats()[0], read: readChoice(&c.render.Format),
			help: "the form of results: " + strings.Join(render.Formats(), ", ")},
		{name: "partials", metavar: "WHAT", choices: []string{"results", "stacks"}, alone: alone{value: "results"}, read: readChoice(&c.partials),
			help: "write partial results, which ppscript fleet run --files merges with the results of other machines; with stacks, also the stacks of each interval"},
		{name: "baseline", metavar: "FILE", kind: aPath, read: readPath(&c.baseline),
			help: "compare results with a run that wrote FILE with --format json or --partials: each interval, and all of the run at its end (docs/compare.md)"},
		{name: "flame-graph", metavar: "FILE", kind: aPath, read: c.readFlameGraph,
			help: "write stacks to FILE: a flame graph if it ends in .svg or .html, else folded; - is stdout. Lines of events are then printed only with -o or --format"},
		{name: "flame-base", metavar: "FILE", kind: aPath, read: readPath(&o.Stacks.FlameBase),
			help: "--flame-graph FILE.svg or .html shows what grew and shrank since the folded stacks in FILE"},
		{name: "pprof", metavar: "FILE", kind: aPath, read: readPath(&o.Stacks.Pprof),
			help: "write stacks to FILE for go tool pprof and speedscope.app"},
		{name: "perfetto", metavar: "FILE", kind: aPath, read: readPath(&o.Timeline.Perfetto),
			help: "write what happened when to FILE for ui.perfetto.dev: pairs as slices, scheduling, wake-ups, stacks. Lines of events are then printed only with -o or --format"},
		{name: "firefox", metavar: "FILE", kind: aPath, read: readPath(&o.Timeline.Firefox),
			help: "write samples, and events as markers, to FILE for profiler.firefox.com, which takes a million of them. Lines of events are then printed only with -o or --format"},
		{name: "parquet", metavar: "DIR", kind: aPath, read: c.readParquet,
			help: "write each result to DIR/NAME.parquet, typed columns for DuckDB and pandas. Lines of events are then printed only with -o or --format"},
		{name: "http", metavar: "ADDRESS", read: c.readHTTP,
			help: "show results in a browser while the run lasts: a page at 127.0.0.1:8080, at a port of this machine, or at unix:PATH. Its address, with a secret, is printed. Lines of events are then printed only with -o or --format"},
		{name: "http-token", metavar: "FILE", kind: aPath, read: c.readPageToken,
			help: "the secret in the address of the page of --http, the same in each run; else it is made up"},
		{name: "html", metavar: "FILE", kind: aPath, read: readPath(&c.page.html),
			help: "write the same page to FILE, with the results inside, at the end of each interval, and of the run. Lines of events are then printed only with -o or --format"},
		{name: "otlp", metavar: "URL", read: readURL(&c.remote.OTLP),
			help: "send metrics to an OpenTelemetry collector at the end of each interval, by OTLP/HTTP: http://localhost:4318. $OTEL_EXPORTER_OTLP_HEADERS has headers, secrets too"},
		{name: "otlp-profiles", metavar: "URL", read: readURL(&c.remote.OTLPProfiles),
			help: "send the stacks of each interval to an OpenTelemetry collector (v1development). Lines of events are then printed only with -o or --format"},
		{name: "pyroscope", metavar: "URL", read: readURL(&c.remote.Pyroscope),
			help: "send the stacks of each interval to Pyroscope: http://localhost:4040. $PYROSCOPE_HEADERS has headers, such as authorization=Bearer%20TOKEN. Lines of events are then printed only with -o or --format"},
		{name: "metrics-series", metavar: "COUNT", deflt: strconv.Itoa(metric.DefaultSeries), read: readSeries(&c.remote.Series),
			help: "how many keys of a result have metrics of their own, at /metrics of --http and with --otlp; the others share a row, __other__"},
		{name: "lines", metavar: "WHEN", choices: []string{"yes", "no"}, alone: alone{value: "yes"}, deflt: "yes with --pprof, --flame-graph, --perfetto and --firefox", read: readChoice(&o.Symbols.Lines),
			help: "yes or no: name source files, lines and inlined functions in stacks"},
		{name: "symfs", metavar: "DIR", kind: aPath, read: c.readSymRoot,
			help: "look for the files of programs below DIR, by their paths"},
		{name: "debug-dir", metavar: "DIR", kind: aPath, deflt: "~/.debug, /usr/lib/debug", read: c.readDebugDirs,
			help: "look for files by build-id, and for debug files, in DIR"},
		{name: "debuginfod", metavar: "URL", alone: alone{value: symbolsource.Environment, takes: symbolsource.IsURL}, deflt: "no server is asked", read: readSymbols(&o.Symbols, symbolsource.Debuginfod),
			help: "fetch debug files that are nowhere here from a server, by build-id: URL, or the servers in $DEBUGINFOD_URLS (docs/symbols.md)"},
		{name: "symbols-from", metavar: "PLACE", kind: aPath, read: readSymbols(&o.Symbols, symbolsource.From),
			help: "look for the files of programs in PLACE: a directory, where they are found by build-id whatever their names, or the URL of a debuginfod server"},
		{name: "names", metavar: "WHEN", choices: []string{"now", "later"}, deflt: "now", read: readSymbols(&o.Symbols, symbolsource.Names),
			help: "now or later: later reads no symbols of programs, and ppscript resolve names their functions in the JSON that was saved"},
		{name: "time", metavar: "TIME", choices: render.Times(), deflt: render.Times()[0], read: readChoice(&c.render.Time),
			help: "times of lines: wall (date and time), rel (since the start), mono (seconds of the events' clock) or delta (since the line before)"},
		{name: "color", metavar: "WHEN", choices: console.ColorModes, deflt: "auto", read: readChoice(&c.render.Color),
			help: "auto, always or never"},
		{name: "raw", read: readFlag(&o.Show.Raw),
			help: "show fields as numbers, also where the kernel has names for them: 2, not TCP_SYN_SENT; JSON has both without it"},
		{name: "include-self", read: readFlag(&o.Show.Self),
			help: "also print and send events of ppscript itself"},
		{name: "strict", recorded: true, read: readFlag(&c.strict),
			help: "exit with 4 if events were lost"},
		{name: "no-sandbox", recorded: true, read: readFlag(&c.noSandbox),
			help: "keep all rights while events flow; otherwise the run gives up the rights that it does not need (docs/security.md)"},
		{name: "usage-self", metavar: "TIME", read: readTime(&o.Cost.UsageSelf),
			help: "report what ppscript costs every TIME, such as 10s"},
	}
}

func (c *common) otherOptions() []*flag {
	return []*flag{
		{name: "verbose", short: "v", recorded: true, read: readTimes(&c.options.Verbose),
			help: "print which events are opened and how, and which files were written; SIGUSR2 makes a run print its state"},
		{name: "quiet", short: "q", recorded: true, read: readTimes(&c.quiet),
			help: "no messages, no lines under headers; -qq also no dates and headers"},
		{name: "describe",
			help: "print options, events and results as JSON"},
		{name: "version", short: "V",
			help: "show the version"},
		{name: "help", short: "h", helpPlace: briefly,
			help: "show this help"},
		{name: "help-all", helpPlace: briefly,
			help: "show the options of every script as well"},
	}
}

// defaultPages formats the default sizes of rings for --help-all.
func defaultPages() string {
	return fmt.Sprintf("%d; %d where stacks are copied", pagesOr(session.DefaultPages(runtime.NumCPU(), 0)),
		4*pagesOr(session.DefaultPages(runtime.NumCPU(), 0)))
}

func pagesOr(n int) int {
	if n == 0 {
		return perf.DefaultPages
	}
	return n
}

func (c *common) readCgroups(r *reader, f *flag) {
	for _, s := range f.texts {
		for _, name := range strings.Split(s, ",") {
			if strings.TrimSpace(name) == "" {
				r.fail(usagef("option", "--cgroups", "got %q, want the name or the pattern of a cgroup", s).
					WithHint("list them: find /sys/fs/cgroup -type d"))
			}
			c.target.Cgroups = append(c.target.Cgroups, name)
		}
	}
}

// readCRI reads the socket of a container runtime.
func (c *common) readCRI(r *reader, f *flag) {
	var err error
	if c.options.Names.CRI, err = cgroup.Socket(r.path(f)); err != nil {
		r.fail(err)
	}
}

// readOwners reads names of containers, pods or units: their cgroups are observed, with all cgroups in
// them. Cgroups that no event can open by are observed by their processes, and the processes that these
// start.
func (c *common) readOwners(kind cgroup.Kind) func(r *reader, f *flag) {
	return func(r *reader, f *flag) {
		found, err := cgroup.Targets(kind, f.texts, c.options.Names)
		if err != nil {
			r.fail(err)
		}
		t := &c.target
		t.Cgroups = append(t.Cgroups, found.Cgroups...)
		if len(found.Processes) == 0 {
			return
		}
		if len(t.PIDs) > 0 && c.owners == nil {
			r.fail(usagef("attach", "target", "got -p and --%s", f.name).WithHint("give one of them"))
		}
		t.PIDs = append(t.PIDs, found.Processes...)
		t.Inherit = perf.Yes // a later --inherit=no wins
		c.owners = append(c.owners, found.Names...)
	}
}

// sayOwners prints which targets are observed by their processes.
func (c *common) sayOwners(say func(line string)) {
	if c.owners != nil {
		say(fmt.Sprintf("%s: no event opens by this cgroup of version 1: the processes that are in it now"+
			" (%d) and their children are observed, not processes that join later",
			strings.Join(c.owners, ", "), len(c.target.PIDs)))
	}
}

// readInherit reads --inherit, and --ptrace, perf-prof's name for it.
func (c *common) readInherit(r *reader, f *flag) {
	switch {
	case r.on(f):
		c.target.Inherit = perf.Yes
	case f.name == "inherit":
		c.target.Inherit = perf.No
	}
}

func (c *common) readParquet(r *reader, f *flag) {
	c.sinks = append(c.sinks, parquet.Opener(r.path(f)))
	c.linesAside = true
}

func (c *common) readInput(r *reader, f *flag) {
	c.inputs = f.texts
	c.input = f.texts[0]
	for _, path := range f.texts {
		if path == "" {
			r.fail(usagef("option", "--input", "the name of the file is empty").
				WithHint("write --input FILE"))
		}
	}
}

func (c *common) readPages(r *reader, f *flag) {
	n := int(r.number(f, 1, 1<<20, "use -m "+strconv.Itoa(perf.DefaultPages)))
	r.powerOfTwo(n)
	c.options.Reading.Pages = n
}
