// Package layout holds the rules of the tree itself: which package may import
// which, the package that owns each third-party module, that every package says what it is
// for, and that only the command ends the process.
//
// The tables in this file are the design; a change to them is a design change
// and its commit says why. check.go applies them.
package layout

// module is this module's path.
const module = "ppscript"

// layers lists every package once, lowest first. A package may import those
// above it in this list, not those below or beside it in the same line.
// DIRECTORY/* is all packages in a directory that the list does not name.
var layers = [][]string{
	{"runtime"}, // the map; no code

	// Words that everything uses.
	{"runtime/text/unit", "runtime/text/diag", "runtime/text/glob", "runtime/text/plain"},
	// Files that results go to, and that are read whole.
	{"runtime/system/outfile", "runtime/system/infile"},
	// What the caller may do with files, apart from what we may do.
	{"runtime/system/privilege"},
	{"runtime/system/sandbox"},                         // what a run no longer needs is given up
	{"runtime/system/memory", "runtime/system/limits"}, // what a run holds; what scripts may take
	// The waist.
	{"runtime/event"},
	{"runtime/event/eventtest"},

	// Facts, and per-event code. expr and cexpr are below tracefs because the
	// kernel's print formats are C expressions.
	{"runtime/system/kernel"},
	{"runtime/system/kernel/gensyscalls", "runtime/system/kernel/genparams"},
	{"runtime/target/cri"},        // the names that runtimes of containers tell
	{"runtime/target/cgroup"},     // whose a process is: container, pod, unit
	{"runtime/system/kerneltype"}, // the C types of the kernel, which expressions read memory by
	{"runtime/expr/c"},
	{"runtime/expr"},
	{"runtime/expr/exprtest"},
	{"runtime/expr/native"}, // functions of scripts and of C expressions
	{"runtime/expr/cexpr"},
	{"runtime/source/tracefs"},

	// Sources. A file has the records that the rings had.
	{"runtime/system/workload"},     // the command that perf observes
	{"runtime/source/datasrc"},      // what a sample says of a memory access
	{"runtime/source/tsc"},          // the CPU's counter, and clocks of guests
	{"runtime/system/poll"},         // waits for rings
	{"runtime/record/ringbuf"},      // the buffers through which programs send
	{"runtime/record/latetext"},     // texts that come later than their events
	{"runtime/record/sent"},         // what programs send
	{"runtime/record/flightbuffer"}, // what programs keep
	{"runtime/source/perf"},
	{"runtime/target/threadset"},  // the threads that the user named
	{"runtime/session/cost"},      // what observing costs
	{"runtime/source/bytecursor"}, // numbers and texts off files of others
	{"runtime/source/tracedat"},   // files of trace-cmd
	{"runtime/source/perfdata"},
	{"runtime/source/eventtext"}, // makes recordings of texts
	{"runtime/source/identity"},  // certificates of this machine and its peers, for TLS
	{"runtime/source/relay"},     // recordings that are sent while they are made

	// Processes and places: files that code was mapped from, then the processes that mapped them,
	// then their functions and how to walk their stacks.
	{"runtime/stack/dso"},
	{"runtime/stack/debuginfod"}, // files of programs, from servers
	{"runtime/stack/jitdump"},    // what compilers tell of the code that they make
	{"runtime/target/task"},
	{"runtime/stack/symbol"},
	{"runtime/stack/unwind"},
	{"runtime/source/probe"}, // where dynamic probes go; it asks symbol, opens nothing

	// What is done with events.
	{"runtime/stack"},
	{"runtime/result", "runtime/operator/key"},
	{"runtime/operator/order"},
	{"runtime/source/wallclock"}, // which times events have
	{"runtime/operator/flow"},
	{"runtime/operator/join"},
	{"runtime/operator/*", "runtime/why"}, // those that need no other: agg, fold
	{"runtime/why/slowspan"},              // which spans are asked for, of why
	{"runtime/why/whyfacts"},              // what events do not tell of them
	// Events as rows, and questions to them.
	{"runtime/operator/sql"},
	// The nodes and edges of a plan, of which programs are generated.
	{"runtime/plan/graph"},
	// What of all that runs in the kernel: how it is loaded and read, then how it is
	// made. plan asks whether it can.
	{"bpf/load", "bpf/features"},
	{"bpf/hookcost"},           // what programs cost beside their own time
	{"runtime/session/budget"}, // what observing may cost
	{"bpf/assembler"},
	{"bpf/hook"}, // what calls a program, and what it finds there
	// What programs keep, and the call stacks that they find.
	{"bpf/state", "bpf/walk"},
	{"bpf/interpreted"}, // which functions of an interpreter run at a sample
	{"bpf/eval"},        // expressions, which programs evaluate
	{"bpf/outbox"},      // what programs send
	{"bpf"},
	// Forms of results for other tools.
	{"runtime/why/story"}, // where time went, in words
	{"runtime/result/timeline"},
	{"runtime/output/perfetto", "runtime/output/firefox"},
	{"runtime/output/render"},
	{"runtime/output/chart"},      // results drawn with characters
	{"runtime/stack/interpreter"}, // which functions of Python, Ruby, PHP run in stacks
	// Stacks get their names, for results of all kinds.
	{"runtime/stack/naming"},
	{"runtime/stack/listing"}, // the code of a function beside its samples
	// Files that show a run beside its results.
	{"runtime/output/picture"},

	// From a script's wish to a run.
	{"runtime/source/eventspec"}, // events as scripts name them
	{"runtime/source/reading"},   // events that are read
	{"runtime/result/view"},      // how results are shown
	{"runtime/plan/placement"},   // annotates the graph of a plan
	{"runtime/plan"},
	{"runtime/source/eventstring"}, // makes sources of texts
	{"runtime/source/eventkind"},   // finds the events that sources name, opens none
	{"runtime/output"},             // the reports that files for other tools need
	// Results as metrics, and what sends; then their forms.
	{"runtime/output/metric", "runtime/output/push"},
	{"runtime/output/parquet", "runtime/output/prometheus", "runtime/output/otlp", "runtime/output/pyroscope"},
	{"runtime/output/live"},       // a page that shows a run
	{"runtime/plan/capabilities"}, // what of the kernel a plan needs
	{"runtime/session"},
	{"runtime/result/chance"},    // how likely numbers are by chance
	{"runtime/result/outlier"},   // machines that differ from the others
	{"runtime/result/mergeable"}, // results of one machine, to be put together with those of others
	{"runtime/result/compare"},   // what changed between two runs
	{"runtime/script/value"},
	{"runtime/script/option"},
	{"runtime/script", "runtime/script/library"},
	{"runtime/script/eventview"},
	{"runtime/script/direct"}, // what stays interpreted, without the interpreter
	{"runtime/script/frontend"},

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
	{"cmd/ppscript/terminal/tty"}, // keys of a terminal
	{"cmd/ppscript/terminal/console"},
	{
		"cmd/ppscript/terminal/help", "cmd/ppscript/terminal/prompt",
		"cmd/ppscript/recording", "cmd/ppscript/terminal/screen",
		"cmd/ppscript/remote", "cmd/ppscript/editor/starfmt", "cmd/ppscript/testreport", "cmd/ppscript/watchdog",
		"cmd/ppscript/recording/symbolize", "cmd/ppscript/terminal/progress",
		"cmd/ppscript/recording/symbolsource",
	},
	{
		"cmd/ppscript/permit", "cmd/ppscript/fleet/journal", "cmd/ppscript/editor/newscript", "cmd/ppscript/recording/exporter",
		"cmd/ppscript/fleet/token", "cmd/ppscript/permit/sign",
		"cmd/ppscript/recording/resultfile",
	},
	{"cmd/ppscript/recording/resolve"}, // names what was saved
	{"cmd/ppscript/recording/diff"},    // compares what was saved
	{"cmd/ppscript/editor/langserver"}, // for editors: completes as the prompt does, formats
	// Rights to run scripts: asks permit and sign. What doctor found: asks for owners of files.
	{"cmd/ppscript/permit/sealed", "cmd/ppscript/findings", "cmd/ppscript/editor/mcpserver", "cmd/ppscript/fleet/peers"},
	{"cmd/ppscript/fleet/sshlink"}, // machines by ssh
	{"cmd/ppscript/fleet"},         // many machines: asks sign whose scripts they run
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
		"runtime/script", "builtins", "cmd/ppscript/editor/langserver",
		"cmd/ppscript/terminal/prompt", // tells what variables are
	},
	"github.com/nats-io/nats.go":             {"cmd/ppscript/fleet"},
	"github.com/nats-io/nats-server/v2":      {"cmd/ppscript/fleet"},
	"github.com/sourcegraph/jsonrpc2":        {"cmd/ppscript/editor/langserver"},
	"github.com/modelcontextprotocol/go-sdk": {"cmd/ppscript/editor/mcpserver"},
	"github.com/cilium/ebpf":                 {"runtime/system/kernel", "runtime/system/kerneltype", "bpf"},
	"golang.org/x/sys": {
		"runtime/system", "runtime/target", "runtime/record", "runtime/source", "runtime/stack",
		"bpf", "cmd/ppscript",
	},
	"github.com/yuin/goldmark": {"docs/site"},
	"golang.org/x/arch": {
		"runtime/source/probe", "runtime/stack/listing", "runtime/stack/interpreter",
	},
	"golang.org/x/net":                    {"runtime/system/sandbox"}, // instructions of filters
	"github.com/elastic/go-seccomp-bpf":   {"runtime/system/sandbox"},
	"github.com/landlock-lsm/go-landlock": {"runtime/system/sandbox"},
	"golang.org/x/term":                   {"runtime/output/render", "cmd/ppscript"},
	"github.com/ianlancetaylor/demangle":  {"runtime/stack/symbol", "runtime/source/probe"},
	"github.com/google/pprof":             {"runtime/output/render"},
	"modernc.org/sqlite":                  {"runtime/operator/sql"},
	"modernc.org/libc":                    {"runtime/operator/sql"}, // how its functions are called
	"github.com/ulikunitz/xz":             {"runtime/stack/symbol"},
	"github.com/bazelbuild/buildtools":    {"cmd/ppscript"},
	"github.com/spf13/cobra":              {"cmd/ppscript"},
	"github.com/spf13/pflag":              {"cmd/ppscript", "builtins/sources"},
	"github.com/prometheus":               {"runtime/output/prometheus"},
	"github.com/klauspost/compress": {
		"runtime/source", "runtime/output/parquet", "packaging",
	},
	"google.golang.org/protobuf": {
		"runtime/target/cri", "runtime/output/prometheus", "runtime/output/otlp", "runtime/result/mergeable",
	},
	"golang.org/x/mod":                {"runtime/script/library", "cmd/ppscript"},
	"github.com/rogpeppe/go-internal": {"cmd/ppscript"}, // diff; testscript, for tests
}

// mayExit are the packages that may end the process: commands, and workload in
// the child that becomes the command.
var mayExit = []string{
	"cmd/ppscript", "builtins/gen", "editors/gen", "docs/gen", "docs/site", "packaging",
	"runtime/system/kernel/gensyscalls", "runtime/system/kernel/genparams", "runtime/system/workload",
}
