// Package layout holds the rules of the tree itself: which package may import
// which, who owns each third-party module, that every package says what it is
// for, and that only the command ends the process.
//
// The tables in this file are the design; a change to them is a design change
// and its commit says why. check.go applies them.
package layout

// module is this module's path.
const module = "ppscript"

// layers lists every package once, lowest first. A package may import those
// above it in this list, not those below or beside it in the same line.
var layers = [][]string{
	{"runtime"}, // the map; no code

	// Words that everything uses.
	{"runtime/unit", "runtime/diag", "runtime/glob", "runtime/plain"},
	// Files that results go to, and that are read whole.
	{"runtime/outfile", "runtime/infile"},
	// What the caller may do with files, apart from what we may do.
	{"runtime/privilege"},
	{"runtime/sandbox"},                  // what a run no longer needs is given up
	{"runtime/memory", "runtime/limits"}, // what a run holds; what scripts may take
	// The waist.
	{"runtime/event"},
	{"runtime/event/eventtest"},

	// Facts, and per-event code. expr and cexpr are below tracefs because the
	// kernel's print formats are C expressions.
	{"runtime/kernel"},
	{"runtime/kernel/gensyscalls", "runtime/kernel/genparams"},
	{"runtime/cri"},        // the names that runtimes of containers tell
	{"runtime/cgroup"},     // whose a process is: container, pod, unit
	{"runtime/kerneltype"}, // the C types of the kernel, which expressions read memory by
	{"runtime/expr/c"},
	{"runtime/expr"},
	{"runtime/expr/exprtest"},
	{"runtime/cexpr"},
	{"runtime/tracefs"},

	// Sources. A file has the records that the rings had.
	{"runtime/workload"}, // the command that perf observes
	{"runtime/datasrc"},  // what a sample says of a memory access
	{"runtime/tsc"},      // the CPU's counter, and clocks of guests
	{"runtime/poll"},     // waits for rings
	{"runtime/ringbuf"},  // the buffers through which programs send
	{"runtime/latetext"}, // texts that come later than their events
	{"runtime/sent"},     // what programs send
	{"runtime/window"},   // what programs keep
	{"runtime/perf"},
	{"runtime/watched"},    // the threads that the user named
	{"runtime/cost"},       // what observing costs
	{"runtime/bytecursor"}, // numbers and texts off files of others
	{"runtime/tracedat"},   // files of trace-cmd
	{"runtime/perfdata"},
	{"runtime/eventtext"}, // makes recordings of texts
	{"runtime/identity"},  // who we and our peers are, for TLS
	{"runtime/relay"},     // recordings that are sent while they are made

	// Who and where: files that code was mapped from, then who mapped them,
	// then their functions and how to walk their stacks.
	{"runtime/dso"},
	{"runtime/debuginfod"}, // files of programs, from servers
	{"runtime/jitdump"},    // what compilers tell of the code that they make
	{"runtime/task"},
	{"runtime/symbol"},
	{"runtime/unwind"},
	{"runtime/probe"}, // where dynamic probes go; it asks symbol, opens nothing

	// What is done with events.
	{"runtime/stack"},
	{"runtime/result", "runtime/key"},
	{"runtime/order"},
	{"runtime/sideband"},  // records about processes, beside events that stay in the kernel
	{"runtime/wallclock"}, // which times events have
	{"runtime/demand"},    // what sources must deliver
	{"runtime/flow"},
	{"runtime/join"},
	{"runtime/agg", "runtime/fold", "runtime/silence", "runtime/overlap", "runtime/why"},
	{"runtime/slowspan"}, // which spans are asked for, of why
	{"runtime/whyfacts"}, // what events do not tell of them
	// Events as rows, and questions to them.
	{"runtime/sql"},
	// What of all that runs in the kernel: how it is loaded and read, then how it is
	// made. plan asks whether it can.
	{"bpf/types"},
	{"bpf/load", "bpf/features", "bpf/ptregs", "bpf/arith", "bpf/pattern", "bpf/rawpoint"},
	{"bpf/latetext"},   // its programs and maps are for bpf/load
	{"bpf/skipped"},    // events that the kernel gives to nobody, since programs hang there
	{"bpf/toll"},       // what a hit costs beside its program
	{"bpf/preload"},    // unwind tables for programs
	{"runtime/budget"}, // what observing may cost
	{"bpf/assembler"},
	// What programs do with numbers, with stacks of calls, with texts, and to know the target.
	{"bpf/bucket", "bpf/callstack", "bpf/keyshare", "bpf/textcode", "bpf/tracker"},
	{"bpf/hook"},      // what calls a program, and what it finds there
	{"bpf/framewalk"}, // how it walks user stacks by unwind tables
	{"bpf/owner", "bpf/chain", "bpf/outbox", "bpf/alike", "bpf/kernelread", "bpf/lookup", "bpf/madetext", "bpf/compute", "bpf/room"},
	{"bpf/interpreted"}, // which functions of an interpreter run at a sample
	{"bpf/longtext"},    // texts that are longer than their places
	{"bpf/comparetext"},
	{"bpf/calltext", "bpf/argument"}, // texts that wait for the end of a call; arguments of probes
	{"bpf/waiting"},                  // what waits of an event for its partner
	{"bpf/wakeup"},                   // wakeups of tasks that do not wait
	{"bpf"},
	{"runtime/inview"},  // whom programs observe
	{"runtime/arrival"}, // what programs of joins keep
	// Forms of results for other tools.
	{"runtime/output/speedscope"},
	{"runtime/story"}, // where time went, in words
	{"runtime/timeline"},
	{"runtime/output/perfetto", "runtime/output/firefox"},
	{"runtime/render"},
	{"runtime/chart"},       // results drawn with characters
	{"runtime/interpreter"}, // which functions of Python, Ruby, PHP run in stacks
	// Stacks get their names, for results of all kinds.
	{"runtime/naming"},
	{"runtime/listing"},  // the code of a function beside its samples
	{"runtime/patience"}, // how long files may be read for names
	// Files that show a run beside its results.
	{"runtime/picture"},

	// From a script's wish to a run.
	{"runtime/eventspec"}, // events as scripts name them
	{"runtime/reading"},   // events that are read
	{"runtime/view"},      // how results are shown
	{"runtime/placement"}, // a plan describes itself to it
	{"runtime/plan"},
	{"runtime/shown"},       // what scripts show that are sources
	{"runtime/eventstring"}, // makes sources of texts
	{"runtime/eventkind"},   // finds the events that sources name, opens none
	{"runtime/output"},      // the reports that files for other tools need
	// Results as metrics, and what sends; then their forms.
	{"runtime/output/metric", "runtime/output/push"},
	{"runtime/output/parquet", "runtime/output/prometheus", "runtime/output/otlp", "runtime/output/pyroscope"},
	{"runtime/database"},    // databases of plans while they run
	{"runtime/output/live"}, // a page that shows a run
	{"runtime/slots"},       // events in slots of time, for a budget
	{"runtime/facility"},    // what of the kernel a plan needs
	{"runtime/session"},
	{"runtime/chance"},  // how likely numbers are by chance
	{"runtime/outlier"}, // machines that differ from the others
	{"runtime/partial"}, // results of one machine, to be put together with those of others
	{"runtime/compare"}, // what changed between two runs
	{"runtime/value"},
	{"runtime/option"},
	{"runtime/script", "runtime/library"},
	{"runtime/eventview"},
	{"runtime/direct"}, // what stays interpreted, without the interpreter
	{"runtime/frontend"},

	// The language's words. builtins is the form of a declaration and the
	// registry, which every group uses; builtins/all is the table of them.
	{"builtins"},
	{"builtins/values"},
	{"builtins/host"},
	{"builtins/options"},
	// What a pipeline ends in, the pipeline, what it starts with.
	{"builtins/results"},
	{"builtins/pipeline"},
	{"docs"},
	{"docs/pictures"}, // the drawings of the pages
	{"docs/schema"},   // the page about JSON as JSON Schema
	{"docs/gen"},
	{"docs/site"}, // the pages as a web site
	{"scripts"},
	{"stdlib"}, // profilers are sources too
	{"builtins/sources"},
	// What the REPL and tests say beside scripts.
	{"builtins/assert", "builtins/explore"},
	{"builtins/all"},
	{"builtins/gen"},
	{"editors", "editors/gen"}, // grammars of the words

	// The parts of the command line that know nothing of the others.
	{"cmd/ppscript/tty"}, // keys of a terminal
	{"cmd/ppscript/console"},
	{
		"cmd/ppscript/eventhelp", "cmd/ppscript/firstscreen", "cmd/ppscript/topic", "cmd/ppscript/prompt",
		"cmd/ppscript/recording", "cmd/ppscript/screen",
		"cmd/ppscript/remote", "cmd/ppscript/starfmt", "cmd/ppscript/testreport", "cmd/ppscript/watchdog",
		"cmd/ppscript/symbolize", "cmd/ppscript/completion", "cmd/ppscript/progress", "cmd/ppscript/argv",
		"cmd/ppscript/symbolsource",
	},
	{
		"cmd/ppscript/permit", "cmd/ppscript/journal", "cmd/ppscript/newscript", "cmd/ppscript/exporter",
		"cmd/ppscript/token", "cmd/ppscript/loading", "cmd/ppscript/sign",
		"cmd/ppscript/resultfile",
	},
	{"cmd/ppscript/modules"},    // fetches by loading
	{"cmd/ppscript/resolve"},    // names what was saved
	{"cmd/ppscript/diff"},       // compares what was saved
	{"cmd/ppscript/langserver"}, // for editors: completes as the prompt does, formats
	// Who may run what: asks permit and sign. What doctor found: asks who owns files.
	{"cmd/ppscript/sealed", "cmd/ppscript/findings", "cmd/ppscript/mcpserver", "cmd/ppscript/peers"},
	{"cmd/ppscript/sshlink"}, // machines by ssh
	{"cmd/ppscript/fleet"},   // many machines: asks sign whose scripts they run
	{"cmd/ppscript"},
	{"packaging"}, // packages of the program, which it runs
}

// planned lists the packages of layers that do not exist yet. One that exists
// must leave this list, so that it can only shrink.
var planned = []string{}

// owners names, for each third-party module, the packages (with those below
// them) that may import it. The tests/ tree may import all of them.
var owners = map[string][]string{
	"go.starlark.net": {
		"runtime/value", "runtime/option", "runtime/script", "runtime/eventview", "runtime/direct",
		"runtime/frontend", "builtins", "cmd/ppscript/langserver",
		"cmd/ppscript/prompt", // tells what variables are
	},
	"github.com/nats-io/nats.go":             {"cmd/ppscript/fleet"},
	"github.com/nats-io/nats-server/v2":      {"cmd/ppscript/fleet"},
	"github.com/sourcegraph/jsonrpc2":        {"cmd/ppscript/langserver"},
	"github.com/modelcontextprotocol/go-sdk": {"cmd/ppscript/mcpserver"},
	"github.com/cilium/ebpf":                 {"runtime/kernel", "runtime/kerneltype", "bpf"},
	"golang.org/x/sys": {
		"runtime/infile", "runtime/outfile", "runtime/privilege", "runtime/sandbox", "runtime/kernel",
		"runtime/cgroup", "runtime/tracefs", "runtime/workload", "runtime/poll", "runtime/ringbuf", "runtime/latetext", "runtime/window", "runtime/perf",
		"runtime/perfdata", "runtime/eventtext", "runtime/relay", "runtime/dso", "runtime/probe",
		"bpf", "cmd/ppscript",
	},
	"github.com/yuin/goldmark":            {"docs/site"},
	"golang.org/x/arch":                   {"runtime/probe", "runtime/listing", "runtime/interpreter"},
	"golang.org/x/net":                    {"runtime/sandbox"}, // filters of system calls as instructions
	"github.com/elastic/go-seccomp-bpf":   {"runtime/sandbox"},
	"github.com/landlock-lsm/go-landlock": {"runtime/sandbox"},
	"golang.org/x/term":                   {"runtime/render", "cmd/ppscript"},
	"github.com/ianlancetaylor/demangle":  {"runtime/symbol", "runtime/probe"},
	"github.com/google/pprof":             {"runtime/render"},
	"modernc.org/sqlite":                  {"runtime/sql"},
	"modernc.org/libc":                    {"runtime/sql"}, // how its functions are called
	"github.com/ulikunitz/xz":             {"runtime/symbol"},
	"github.com/bazelbuild/buildtools":    {"cmd/ppscript"},
	"github.com/spf13/cobra":              {"cmd/ppscript"},
	"github.com/spf13/pflag":              {"cmd/ppscript", "builtins/sources"},
	"github.com/prometheus":               {"runtime/output/prometheus"},
	"github.com/klauspost/compress": {
		"runtime/tracedat", "runtime/perfdata", "runtime/output/parquet", "runtime/tracefs", "packaging",
	},
	"google.golang.org/protobuf": {
		"runtime/cri", "runtime/output/prometheus", "runtime/output/otlp", "runtime/partial",
	},
	"golang.org/x/mod":                {"runtime/library", "cmd/ppscript"},
	"github.com/rogpeppe/go-internal": {"cmd/ppscript"}, // diff; testscript, for tests
}

// mayExit are the packages that may end the process: commands, and workload in
// the child that becomes the command.
var mayExit = []string{
	"cmd/ppscript", "builtins/gen", "editors/gen", "docs/gen", "docs/site", "packaging",
	"runtime/kernel/gensyscalls", "runtime/kernel/genparams", "runtime/workload",
}
