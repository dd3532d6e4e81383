package main

import (
	"fmt"
	"io"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/diag"
	"ppscript/runtime/kernel"
	"ppscript/runtime/perf"
	"ppscript/runtime/render"
	"ppscript/runtime/session"
	"ppscript/runtime/unit"
)

// Groups of options, in the order of --help.
const (
	groupTarget = "Target"
	groupRun    = "Run"
	groupOutput = "Output"
	groupOther  = "Other"
)

// commonFlags are the options that every script has.
func commonFlags() []*flag {
	return []*flag{
		{name: "cpus", short: "C", metavar: "LIST", group: groupTarget, help: "CPUs to observe, such as 0-3,8", deflt: "all online"},
		{name: "pids", short: "p", metavar: "PID,...", group: groupTarget, help: "processes to observe, with all their threads"},
		{name: "tids", short: "t", metavar: "TID,...", group: groupTarget, help: "threads to observe"},
		{name: "cgroups", metavar: "NAME,...", group: groupTarget, help: "cgroups to observe: names or patterns"},
		{name: "inherit", group: groupTarget, help: "follow the children of what is observed"},
		{name: "ptrace", group: groupTarget, help: "the same as --inherit, without ptrace"},
		{name: "system", group: groupTarget, help: "observe all CPUs while the command runs, not only the command"},
		{name: "input", metavar: "FILE", file: true, group: groupTarget, help: "read a recording (perf.data) instead of the kernel; - is stdin; several are merged by time"},

		{name: "interval", short: "i", metavar: "TIME", group: groupRun, help: "report every TIME (bare numbers are ms); of a recording by its own time", deflt: "only at the end"},
		{name: "duration", metavar: "TIME", group: groupRun, help: "stop after TIME (bare numbers are s); of a recording by its own time"},
		{name: "from", metavar: "WHEN", group: groupRun, help: "leave out what a recording has before WHEN: 2s after its begin, -2s before its end, 10:20:30, 2026-01-02T10:20:30Z, or seconds of its clock as printed"},
		{name: "to", metavar: "WHEN", group: groupRun, help: "leave out what a recording has from WHEN on"},
		{name: "exit-N", short: "N", metavar: "COUNT", group: groupRun, help: "stop after COUNT samples"},
		{name: "mmap-pages", short: "m", metavar: "PAGES", group: groupRun, help: "size of each ring in pages of 4 KiB, a power of two", deflt: strconv.Itoa(perf.DefaultPages)},
		{name: "watermark", metavar: "PERCENT", group: groupRun, help: "read rings when they are that full", deflt: "50"},
		{name: "sampling-limit", metavar: "COUNT", group: groupRun, help: "end when a CPU, or thread, sends more than COUNT events a second; with --perfeval-*, one of those"},
		{name: "perfeval-cpus", metavar: "LIST", group: groupRun, help: "with each report, say how many of the events occurred on these CPUs, whatever the filters, and how many of them reached ppscript"},
		{name: "perfeval-pids", metavar: "PID,...", group: groupRun, help: "the same of the threads that these processes have at the begin"},
		{name: "monotonic", group: groupRun, help: "stamp events with CLOCK_MONOTONIC"},
		{name: "engine", metavar: "ENGINE", group: groupRun, help: "what runs per-event code: " + strings.Join(engines, ", "), choices: engines, deflt: "auto"},
		{name: "order", group: groupRun, help: "accepted: events are ordered wherever a script needs it"},
		{name: "order-mem", metavar: "SIZE", group: groupRun, help: "bound on what is held of events from elsewhere (pull=, a pipe) to order them, and for all slow receivers together (push=); the rings of this machine are ordered in place", deflt: "256m, 8m"},
		{name: "allow", metavar: "WHAT", group: groupRun, help: "let the script write files (write=DIR) and talk to others (net=ADDRESS) that it names itself; several with commas"},
		{name: "token-file", metavar: "FILE", file: true, group: groupRun, help: "the secret that both sides of push= and pull= must know where others can connect; else it is $PPSCRIPT_TOKEN"},
		{name: "tsc", group: groupRun, help: "times are the CPU's time stamp counter: tables are in thousands of cycles"},
		{name: "kvmclock", metavar: "VM", group: groupRun, help: "times are those of a guest's clock: the process of its monitor, or its UUID; waits for an update of the clock"},
		{name: "clock-offset", metavar: "N", group: groupRun, help: "add N ns to the times of events"},

		{name: "output", short: "o", metavar: "FILE", file: true, group: groupOutput, help: "write results to FILE; SIGUSR1 opens it anew"},
		{name: "format", metavar: "FORMAT", group: groupOutput, help: "text, json or csv", choices: []string{"text", "json", "csv"}, deflt: "text"},
		{name: "flame-base", metavar: "FILE", file: true, group: groupOutput, help: "--flame-graph FILE.svg shows what grew and shrank since the folded stacks in FILE"},
		{name: "flame-graph", metavar: "FILE", file: true, group: groupOutput, help: "write stacks to FILE: a flame graph if it ends in .svg or .html, else folded; - is stdout"},
		{name: "pprof", metavar: "FILE", file: true, group: groupOutput, help: "write stacks to FILE for go tool pprof"},
		{name: "lines", metavar: "WHEN", group: groupOutput, help: "yes or no: name source files, lines and inlined functions in stacks", choices: []string{"yes", "no"}, alone: "yes", deflt: "yes with --pprof and --flame-graph"},
		{name: "symfs", metavar: "DIR", group: groupOutput, help: "look for the files of programs below DIR, by their paths"},
		{name: "debug-dir", metavar: "DIR", group: groupOutput, help: "look for files by build-id, and for debug files, in DIR", deflt: "~/.debug, /usr/lib/debug"},
		{name: "time", metavar: "TIME", group: groupOutput, help: "wall, rel, mono or delta", choices: []string{"wall", "rel", "mono", "delta"}, deflt: "wall"},
		{name: "color", metavar: "WHEN", group: groupOutput, help: "auto, always or never", choices: []string{"auto", "always", "never"}, deflt: "auto"},
		{name: "include-self", group: groupOutput, help: "print and send also what is about ppscript itself"},
		{name: "strict", group: groupOutput, help: "exit with 4 if events were lost"},
		{name: "usage-self", metavar: "TIME", group: groupOutput, help: "report what ppscript costs every TIME (bare numbers are ms)"},

		{name: "verbose", short: "v", group: groupOther, help: "say what is opened and how; SIGUSR2 asks a run how it stands"},
		{name: "quiet", short: "q", group: groupOther, help: "no notices, no rules; -qq also no dates and headers"},
		{name: "describe", group: groupOther, help: "print options, events and results as JSON"},
		{name: "version", short: "V", group: groupOther, help: "show the version"},
		{name: "help", short: "h", group: groupOther, help: "show this help"},
	}
}

var engines = []string{"auto", "perf", "bpf", "interp"}

// A common is the values of the common options, checked.
type common struct {
	target     perf.Target
	input      string
	inputs     []string // all of them
	orderBytes int
	token      string // of --token-file
	// What the script may write and whom it may talk to beyond what the command
	// line names.
	allowFiles, allowPeers []string
	offset                 int64
	tsc                    bool
	kvmclock               string
	interval               time.Duration
	duration               time.Duration
	from, to               session.Moment // within a recording
	exitN                  uint64
	limit                  uint64
	evalCPUs               []int
	evalPIDs               []int
	pages                  int
	watermark              int
	monotonic              bool
	engine                 string
	output                 string
	flame                  string
	flameBase              string
	pprof                  string
	lines                  string
	symRoot                string
	debugDirs              []string
	render                 render.Options
	self                   bool
	strict                 bool
	usage                  time.Duration
	verbose                int
	quiet                  int
	orderNoted             bool
}

// readCommon checks the common options and the command. What can be known to
// be wrong is said here, before anything is opened.
func readCommon(fs *flags, workload []string) (*common, error) {
	c := &common{}
	r := &reader{flags: fs}
	c.target.CPUs = r.cpus("cpus")
	c.target.PIDs = r.ids("pids", "process")
	c.target.TIDs = r.ids("tids", "thread")
	for _, s := range fs.texts("cgroups") {
		for _, name := range strings.Split(s, ",") {
			if strings.TrimSpace(name) == "" {
				r.fail(usagef("option", "--cgroups", "got %q, want the name or the pattern of a cgroup", s).WithHint("list them: find /sys/fs/cgroup -type d"))
			}
			c.target.Cgroups = append(c.target.Cgroups, name)
		}
	}
	if t, ok := r.text("inherit"); ok {
		c.target.Inherit = perf.No
		if t == "true" {
			c.target.Inherit = perf.Yes
		}
	} else if r.flag("ptrace") {
		c.target.Inherit = perf.Yes
	}
	c.target.System = r.flag("system")
	c.input = r.path("input")
	if c.inputs = fs.texts("input"); len(c.inputs) > 1 {
		c.input = c.inputs[0]
	}
	c.interval = r.duration("interval", time.Millisecond)
	c.duration = r.duration("duration", time.Second)
	c.from, c.to = r.moment("from"), r.moment("to")
	c.usage = r.duration("usage-self", time.Millisecond)
	c.exitN = uint64(r.number("exit-N", 0, 1<<62, "leave it out for no limit"))
	c.pages = int(r.number("mmap-pages", 1, 1<<20, "use -m "+strconv.Itoa(perf.DefaultPages)))
	if n := c.pages; bits.OnesCount(uint(n)) > 1 {
		lower := 1 << (bits.Len(uint(n)) - 1)
		r.fail(usagef("option", "--mmap-pages", "got %d, want a power of two", n).WithHint("use -m %d or -m %d", lower, 2*lower))
	}
	c.limit = uint64(r.number("sampling-limit", 1, 1<<40, "use --sampling-limit 100000"))
	c.evalCPUs, c.evalPIDs = r.cpus("perfeval-cpus"), r.ids("perfeval-pids", "process")
	if c.evalCPUs != nil && c.evalPIDs != nil {
		r.fail(usagef("option", "--perfeval-pids", "--perfeval-cpus is given too").WithHint("give one of them"))
	}
	c.watermark = r.watermark()
	c.monotonic = r.flag("monotonic")
	c.engine = r.choice("engine")
	c.output = r.path("output")
	c.flame, c.pprof, c.flameBase = r.flame(), r.path("pprof"), r.path("flame-base")
	c.lines, c.symRoot, c.debugDirs = r.choice("lines"), r.path("symfs"), fs.texts("debug-dir")
	for _, dir := range append([]string{c.symRoot}, c.debugDirs...) {
		if st, err := os.Stat(dir); dir != "" && (err != nil || !st.IsDir()) {
			r.fail(usagef("option", dir, "no such directory").WithHint("give a directory with the files of programs"))
		}
	}
	if c.flameBase != "" && c.flame == "" {
		r.fail(usagef("option", "--flame-base", "there is no picture").WithHint("add --flame-graph FILE.svg"))
	}
	c.render = render.Options{Format: r.choice("format"), Time: r.choice("time"), Color: r.choice("color")}
	c.self = r.flag("include-self")
	c.strict = r.flag("strict")
	c.verbose, c.quiet = len(fs.texts("verbose")), len(fs.texts("quiet"))
	c.orderNoted = len(fs.texts("order")) > 0
	if t, ok := r.text("order-mem"); ok {
		n, err := unit.ParseSize(t)
		if err == nil && (n < 1<<16 || n > 1<<40) {
			err = fmt.Errorf("got %s, want 64k at least", t)
		}
		if err != nil {
			r.fail(usagef("option", "--order-mem", "%w", err).WithHint("write --order-mem 64m, or leave it out"))
		}
		c.orderBytes = int(n)
	}
	if path := r.path("token-file"); path != "" {
		var err error
		if c.token, err = readToken(path); err != nil {
			r.fail(err)
		}
	}
	var err error
	if c.allowFiles, c.allowPeers, err = readAllow(fs.texts("allow")); err != nil {
		r.fail(err)
	}
	c.tsc = r.flag("tsc")
	if c.kvmclock, _ = r.text("kvmclock"); c.kvmclock == "" && len(fs.texts("kvmclock")) > 0 {
		r.fail(usagef("option", "--kvmclock", "no virtual machine is named").WithHint("write --kvmclock PID"))
	}
	if c.tsc && (c.kvmclock != "" || c.monotonic) || c.kvmclock != "" && c.monotonic {
		r.fail(usagef("option", "--tsc", "only one clock is possible").WithHint("give one of --tsc, --kvmclock, --monotonic"))
	}
	if t, ok := r.text("clock-offset"); ok {
		n, err := strconv.ParseUint(t, 0, 64)
		if c.offset = int64(n); err != nil {
			n, err := strconv.ParseInt(t, 0, 64)
			if c.offset = n; err != nil {
				r.fail(usagef("option", "--clock-offset", "got %q, want a number of ns", t).WithHint("write --clock-offset 0x1ba6ce192"))
			}
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(workload) > 0 {
		c.target.Workload = &perf.Workload{Args: workload}
	}
	return c, c.check()
}

// check finds options that do not go together.
func (c *common) check() error {
	t := &c.target
	if c.engine == "bpf" && c.input != "" {
		return usagef("option", "--engine", "bpf runs in the kernel, and a recording is read").WithHint("leave out --engine")
	}
	if c.input != "" && (c.limit > 0 || c.evalCPUs != nil || c.evalPIDs != nil) {
		return usagef("option", "--input", "what is in a recording was sampled before, and --sampling-limit or --perfeval-* is given").
			WithHint("leave that out, or observe the kernel")
	}
	for _, x := range []struct {
		option string
		given  bool
	}{{"--from", c.from.Given()}, {"--to", c.to.Given()}} {
		if x.given && c.input == "" {
			return usagef("option", x.option, "it is a time within a recording, and none is read").WithHint("add --input FILE, or bound the run with --duration")
		}
	}
	if c.input != "" {
		for _, x := range []struct {
			given bool
			what  string
		}{{t.PIDs != nil, "-p"}, {t.TIDs != nil, "-t"}, {t.CPUs != nil, "-C"}, {t.Cgroups != nil, "--cgroups"},
			{t.System, "--system"}, {t.Inherit != perf.Default, "--inherit"}, {c.monotonic, "--monotonic"}, {t.Workload != nil, "a command"}} {
			if x.given {
				return usagef("option", "--input", "a recording has no target, and %s is given", x.what).
					WithHint("leave out %s; what to keep of a recording is a filter's job", x.what)
			}
		}
	}
	kinds := t.Named()
	if w := t.Workload; w != nil {
		if err := checkProgram(w.Args[0], kinds); err != nil {
			return err
		}
	}
	if len(kinds) > 1 {
		return usagef("attach", "target", "got %s", strings.Join(kinds, " and ")).
			WithHint("give one of -p, -t, --cgroups and a command")
	}
	if t.System && t.Workload == nil {
		return usagef("option", "--system", "there is no command").WithHint("give a command after --, or leave out --system: all CPUs are observed anyway")
	}
	_, err := render.New(io.Discard, c.render)
	return err
}

// A reader reads the texts of options and keeps the first error.
type reader struct {
	flags *flags
	err   error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) text(name string) (string, bool) {
	f := r.flags.find(name)
	if f == nil {
		return "", false
	}
	return f.last()
}

// path is an option that names a file.
func (r *reader) path(name string) string {
	t, ok := r.text(name)
	if ok && t == "" {
		r.fail(usagef("option", "--"+name, "the name of the file is empty").WithHint("write --%s FILE", name))
	}
	return t
}

// flame is where stacks go; like perf-prof, an empty name is stdout.
func (r *reader) flame() string {
	t, ok := r.text("flame-graph")
	if ok && (t == "" || t == "-") {
		return session.Stdout
	}
	return t
}

func (r *reader) flag(name string) bool {
	t, ok := r.text(name)
	return ok && t != "false"
}

func (r *reader) choice(name string) string {
	t, ok := r.text(name)
	if !ok {
		return ""
	}
	f := r.flags.find(name)
	for _, c := range f.choices {
		if t == c {
			return t
		}
	}
	r.fail(usagef("option", "--"+name, "got %q, want one of %s%s", t, strings.Join(f.choices, ", "), diag.DidYouMean(t, f.choices)).
		WithHint("write --%s %s", name, f.choices[0]))
	return ""
}

func (r *reader) duration(name string, bare time.Duration) time.Duration {
	t, ok := r.text(name)
	if !ok {
		return 0
	}
	n, err := unit.ParseDuration(t, int64(bare))
	if err != nil {
		r.fail(usagef("option", "--"+name, "%w", err).WithHint("write --%s 500ms, or --%[1]s 2s", name))
	}
	return time.Duration(n)
}

// moment is a time within a recording.
func (r *reader) moment(name string) session.Moment {
	t, ok := r.text(name)
	if !ok {
		return session.Moment{}
	}
	m, err := session.ParseMoment(t)
	if err != nil {
		r.fail(usagef("option", "--"+name, "%w", err).WithHint("write --%s 2s for two seconds after its begin", name))
	}
	return m
}

func (r *reader) number(name string, low, high int64, hint string) int64 {
	t, ok := r.text(name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(t, 0, 64)
	switch {
	case err != nil:
		r.fail(usagef("option", "--"+name, "got %q, want a number", t).WithHint("%s", hint))
	case n < low:
		r.fail(usagef("option", "--"+name, "got %d, want at least %d", n, low).WithHint("%s", hint))
	case n > high:
		r.fail(usagef("option", "--"+name, "got %d, want at most %d", n, high).WithHint("%s", hint))
	}
	return n
}

// watermark is the percentage; 0 on the command line means: wake at once,
// which is the smallest there is.
func (r *reader) watermark() int {
	n := int(r.number("watermark", 0, 100, "use --watermark 50"))
	if _, given := r.text("watermark"); given && n == 0 {
		return 1
	}
	return n
}

// ids reads lists of process or thread ids.
func (r *reader) ids(name, what string) []int {
	var ids []int
	for _, list := range r.flags.texts(name) {
		for _, t := range strings.Split(list, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(t))
			if err != nil || n < 1 {
				r.fail(usagef("option", "--"+name, "got %q, want the number of a %s", t, what).
					WithHint("write --%s 123, or several: 123,456", name))
				return nil
			}
			ids = append(ids, n)
		}
	}
	return ids
}

// cpus reads the list and compares it with the CPUs that are online.
func (r *reader) cpus(name string) []int {
	t, ok := r.text(name)
	if !ok {
		return nil
	}
	cpus, err := kernel.ParseCPUList(t)
	if err != nil {
		e := usagef("option", "--"+name, "%w", err)
		r.fail(e.WithHint("write --%s 0-3,8", name))
		return nil
	}
	online, err := kernel.OnlineCPUs()
	if err != nil {
		return cpus // the kernel will say what it thinks of them
	}
	if both := kernel.Intersect(cpus, online); len(both) < len(cpus) {
		var off []int
		for _, c := range cpus {
			if len(kernel.Intersect([]int{c}, both)) == 0 {
				off = append(off, c)
			}
		}
		r.fail(usagef("option", "--"+name, "not online: CPU %s", kernel.FormatCPUList(off)).
			WithHint("online are %s", kernel.FormatCPUList(online)))
	}
	return cpus
}
