// Package layout holds the rules of the tree itself: which package may import
// which, the package that owns each third-party module, that every package says what it is
// for, and that only the command ends the process.
//
// The tables in this file are the design; a change to them is a design change
// and its commit says why. check.go applies them.
package layout

// module is this module's path.
const module = "ppscript"

// layers lists every package once, lowest first. A package may import packages
// that come before it in this list, but none after it or in the same line.
// DIRECTORY/* is all packages in a directory that the list does not name.
var layers = [][]string{
	{"runtime"}, // the map; no code

	// Words that everything uses.
	{"runtime/text/unit", "runtime/text/diag", "runtime/text/glob", "runtime/text/plain"},
	// Files that results go to, and that are read whole.
	{"runtime/system/outfile", "runtime/system/infile"},
	// Which files the caller may use, as opposed to this process.
	{"runtime/system/privilege"},
	{"runtime/system/sandbox"},                         // gives up rights that a run no longer needs
	{"runtime/system/memory", "runtime/system/limits"}, // bounds on the memory of a run, and on scripts
	// The waist.
	{"runtime/event"},
	{"runtime/event/eventtest"},

	// Facts, and per-event code. expr and cexpr are below tracefs because the
	// kernel's print formats are C expressions.
	{"runtime/system/kernel"},
	{"runtime/system/kernel/gensyscalls", "runtime/system/kernel/genparams"},
	{"runtime/target/cri"},        // names of containers, from their runtimes
	{"runtime/target/cgroup"},     // the container, pod and unit of a process
	{"runtime/system/kerneltype"}, // the C types of the kernel, by which expressions read memory
	{"runtime/expr/c"},
	{"runtime/expr"},
	{"runtime/expr/exprtest"},
	{"runtime/expr/native"}, // functions of scripts and of C expressions
	{"runtime/expr/cexpr"},
	{"runtime/source/tracefs"},

	// Sources. A file has the records that the rings had.
	{"runtime/system/workload"},     // the command that perf observes
	{"runtime/source/datasrc"},      // the data source of a memory access
	{"runtime/source/tsc"},          // the CPU's counter, and clocks of guests
	{"runtime/system/poll"},         // waits for rings
	{"runtime/record/ringbuf"},      // the buffers through which programs send
	{"runtime/record/latetext"},     // texts that come later than their events
	{"runtime/record/sent"},         // records that programs send
	{"runtime/record/flightbuffer"}, // the newest events, kept by programs
	{"runtime/source/perf"},
	{"runtime/target/threadset"},  // the threads that the user named
	{"runtime/session/cost"},      // the cost of observing
	{"runtime/source/bytecursor"}, // numbers and texts from untrusted bytes
	{"runtime/source/tracedat"},   // files of trace-cmd
	{"runtime/source/perfdata"},
	{"runtime/source/eventtext"}, // recordings made from texts
	{"runtime/source/identity"},  // certificates of this machine and its peers, for TLS
	{"runtime/source/relay"},     // recordings that are sent while they are made

	// Processes and places: files that code was mapped from, then the processes that mapped them,
	// then their functions and how to walk their stacks.
	{"runtime/stack/dso"},
	{"runtime/stack/debuginfod"}, // program and debug files, from servers
	{"runtime/stack/jitdump"},    // JIT compilers' descriptions of their code
	{"runtime/target/task"},
	{"runtime/stack/symbol"},
	{"runtime/stack/unwind"},
	{"runtime/source/probe"}, // places of dynamic probes; uses symbol, opens nothing

	// What is done with events.
	{"runtime/stack"},
	{"runtime/result", "runtime/operator/key"},
	{"runtime/operator/order"},
	{"runtime/source/wallclock"}, // times of events on other clocks
	{"runtime/operator/flow"},
	{"runtime/operator/join"},
	{"runtime/operator/*", "runtime/why"}, // operators that import no other: agg, fold
	{"runtime/why/slowspan"},              // the spans that why explains
	{"runtime/why/whyfacts"},              // facts about them that no event has
	// Events as rows, and queries over them.
	{"runtime/operator/sql"},
	// The nodes and edges of a plan, from which programs are generated.
	{"runtime/plan/graph"},
	// Programs in the kernel: loading and reading them, then generating them. plan
	// asks bpf which operators programs can run.
	{"bpf/load", "bpf/features"},
	{"bpf/hookcost"},           // the cost of calling programs
	{"runtime/session/budget"}, // the limit on the cost
	{"bpf/assembler"},
	{"bpf/hook"}, // the hooks that call programs, and their arguments
	// State of programs, and call stacks.
	{"bpf/state", "bpf/walk"},
	{"bpf/interpreted"}, // functions of an interpreter at a sample
	{"bpf/eval"},        // expressions, which programs evaluate
	{"bpf/outbox"},      // code that sends records
	{"bpf"},
	// Forms of results for other tools.
	{"runtime/why/story"}, // where time went, in words
	{"runtime/result/timeline"},
	{"runtime/output/perfetto", "runtime/output/firefox"},
	{"runtime/output/render"},
	{"runtime/output/chart"},      // results drawn with characters
	{"runtime/stack/interpreter"}, // functions of Python, Ruby, PHP in stacks
	// Names of the functions in stacks, for results of all kinds.
	{"runtime/stack/naming"},
	{"runtime/stack/listing"}, // the code of a function beside its samples
	// Files with pictures of a run, besides its results.
	{"runtime/output/picture"},

	// From a script's description to a run.
	{"runtime/source/eventspec"}, // events as scripts name them
	{"runtime/source/reading"},   // events that ppscript reads itself
	{"runtime/result/view"},      // how results are shown
	{"runtime/plan/placement"},   // annotates the graph of a plan
	{"runtime/plan"},
	{"runtime/source/eventstring"}, // sources from event strings
	{"runtime/source/eventkind"},   // finds the named events, opens none
	{"runtime/output"},             // what outputs have in common
	// Results as metrics, and sending them; then the forms of other tools.
	{"runtime/output/metric", "runtime/output/push"},
	{"runtime/output/parquet", "runtime/output/prometheus", "runtime/output/otlp", "runtime/output/pyroscope"},
	{"runtime/output/live"},       // a page that shows a run
	{"runtime/plan/capabilities"}, // what of the kernel a plan needs
	{"runtime/session"},
	{"runtime/result/chance"},    // how likely numbers are by chance
	{"runtime/result/outlier"},   // machines that differ from the others
	{"runtime/result/mergeable"}, // results of one machine, to be merged with others
	{"runtime/result/compare"},   // what changed between two runs
	{"runtime/script/value"},
	{"runtime/script/option"},
	{"runtime/script", "runtime/script/library"},
	{"runtime/script/eventview"},
	{"runtime/script/direct"}, // functions that stay interpreted, as closures
	{"runtime/script/frontend"},

	// The language's words. builtins is the form of a declaration and the
	// registry, which every group uses; builtins/all is the table of them.
	{"builtins"},
	{"builtins/values"},
	{"builtins/host"},
	{"builtins/options"},
	// Results, the pipeline, then sources.
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
	// Words of the prompt and of tests, in addition to those of scripts.
	{"builtins/assert", "builtins/explore"},
	{"builtins/all"},
	{"builtins/gen"},
	{"editors", "editors/gen"}, // grammars of the words

	// The parts of the command line that import no other part.
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
	// Rules for running scripts, which use permit and sign. The findings of doctor, which need
	// the owners of files.
	{"cmd/ppscript/permit/sealed", "cmd/ppscript/findings", "cmd/ppscript/editor/mcpserver", "cmd/ppscript/fleet/peers"},
	{"cmd/ppscript/fleet/sshlink"}, // machines by ssh
	{"cmd/ppscript/fleet"},         // many machines; uses sign to check scripts
	{"cmd/ppscript"},
	{"packaging"}, // makes packages; runs the program
}

// planned lists the packages in layers that do not exist yet. A package that
// exists must be removed, so the list can only shrink.
var planned = []string{}

// owners names, for each third-party module, the packages (with those below
// them) that may import it. The tests/ tree may import all of them.
var owners = map[string][]string{
	"go.starlark.net": {
		"runtime/script", "builtins", "cmd/ppscript/editor/langserver",
		"cmd/ppscript/terminal/prompt", // types of variables
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

// mayExit are the packages that may end the process: commands, and workload, in
// the child that becomes the observed command.
var mayExit = []string{
	"cmd/ppscript", "builtins/gen", "editors/gen", "docs/gen", "docs/site", "packaging",
	"runtime/system/kernel/gensyscalls", "runtime/system/kernel/genparams", "runtime/system/workload",
}
