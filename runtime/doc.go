// Package runtime is the map of the data's journey, from the kernel to the
// screen. It has no code; the packages are below it, by subject. tests/layout says
// which of them may import which and fails when one does otherwise.
//
// # The journey
//
// Every source delivers events with a schema through event.Source. Everything after it reads
// events and does not know where they came from.
//
// text and system: what everything uses.
//
//	text/unit              quantities: read "10ms", print "1.5MiB"
//	text/diag              errors with a subject and a hint; missing kernel support
//	text/glob              patterns of names: * ? [a-z]
//	text/plain             text from elsewhere, made harmless
//	system/privilege       which files the caller may use, apart from what this process may
//	system/sandbox         gives up the rights that a run no longer needs
//	system/outfile         the files that results go to
//	system/infile          files and pipes that are read whole
//	system/memory          the memory of a run, within one bound
//	system/limits          bounds on the code of scripts
//	system/kernel          facts of this kernel; the doctor
//	system/kerneltype      the C types of the running kernel (BTF)
//	system/workload        the command that is observed: held until its events are attached
//	system/poll            sleeps until a ring has data
//
// event: the waist.
//
//	event                  Schema, Type, Event, Stream, Source, Ring, Loss
//
// target: what is observed.
//
//	target/cri             names of containers, from their runtimes
//	target/cgroup          the container, pod or unit of a process
//	target/task            threads, processes, names and mappings over time
//	target/threadset       the threads that the user named, as they come and go
//
// expr: code that runs per event.
//
//	expr                   one typed program, from C text or from Starlark
//	expr/c                 the grammar of C expressions
//	expr/native            functions that run per event, of scripts and of C expressions
//	expr/cexpr             C expressions of users and of print formats, as programs of expr
//
// record: data that programs of the kernel send and keep.
//
//	record/ringbuf         the buffers that programs of the kernel write to
//	record/latetext        texts that come later than their events
//	record/sent            records of programs of the kernel, as events
//	record/flightbuffer    the newest events of each CPU, kept by programs of the kernel
//
// source: where events come from, and how users name them.
//
//	source/tracefs         tracepoints: their formats, and how the kernel prints them
//	source/perf            live source: perf_event_open, rings, records
//	source/datasrc         where the data of a memory access came from, in words
//	source/tsc             the CPU's counter, and clocks of guests
//	source/bytecursor      numbers, texts and sizes off bytes that cannot be trusted
//	source/tracedat        files of trace-cmd: their sections, and their records by time
//	source/perfdata        recorded source: perf.data files
//	source/identity        certificates of this machine and its peers, for TLS
//	source/relay           events sent elsewhere and received, as recordings
//	source/eventtext       events that people write down, made into recordings
//	source/probe           where dynamic probes and breakpoints go, and the fields of their samples
//	source/wallclock       times of events on other clocks: the time of day, a guest's
//	source/eventspec       events as scripts name them
//	source/eventstring     events as users write them on a command line
//	source/eventkind       the kinds of events of this machine: found, recognized, configured
//	source/reading         events that are read: values of counters, records of the kernel
//
// stack: call stacks and names of functions.
//
//	stack                  call stacks as small numbers
//	stack/dso              the files that code was mapped from, also of dead processes
//	stack/debuginfod       programs and debug files by build-id, from servers
//	stack/jitdump          functions that compilers make at run time, as they tell them
//	stack/symbol           addresses to names
//	stack/unwind           callers without frame pointers
//	stack/interpreter      functions of Python, Ruby and PHP in stacks
//	stack/naming           stacks to functions: what names need, and how long it is kept
//	stack/listing          the code of a function beside its samples
//
// operator: what is done with events.
//
//	operator/key           keys of groups and joins to dense rows
//	operator/order         rings merged by time, without copying
//	operator/flow          how slices of events pass from one operator to the next
//	operator/join          events related by a key: pairs, latencies, timelines
//	operator/agg           events grouped by a key: count, sum, quantile, top
//	operator/fold          a state machine for each key, which emits events
//	operator/silence       times in which a key has no events
//	operator/overlap       spans of time split by other spans
//	operator/sql           events as rows of tables, and questions to them
//
// plan and session: from a script's wish to a run.
//
//	plan                   a script's description, checked and optimised; opens nothing
//	plan/graph             the plan's nodes and edges, from the script to the programs
//	plan/placement         which parts of the plan run in the kernel
//	plan/capabilities      the facilities of the kernel that a plan needs
//	session                opens a plan, runs it, drains it, closes it
//	session/budget         the cost that a run may have, and the events that count for it
//	session/cost           the cost that a run has
//
// result and output: what a run tells.
//
//	result                 tables with typed columns, stacks, lines: values, not text
//	result/view            columns, order and texts of a result
//	result/timeline        slices, instants, switches, wake-ups and counters by time
//	result/mergeable       results of one machine, to be merged with others
//	result/compare         what changed between two runs, and whether that is more than noise
//	result/chance          how likely numbers are by chance alone
//	result/outlier         machines whose numbers differ from the others'
//	output                 results in the forms of other tools, a package for each
//	output/render          results as text, JSON, CSV, Markdown
//	output/chart           results drawn in a terminal: bars, heat maps, lines
//	output/picture         files that show a run: flame graphs, folded stacks, pprof, heat maps
//
// script: the Starlark host and its language.
//
//	script                 runs scripts
//	script/value           durations, times and sizes as scripts compute with them
//	script/option          the options that scripts declare
//	script/eventview       events as values of the script
//	script/frontend        per-event functions of scripts, typed and turned into expr
//	script/direct          functions that stay interpreted, as closures
//	script/library         libraries of scripts, with versions
//
// why: where the time of slow spans went.
//
//	why                    the causes of a span, from the events around it
//	why/slowspan           which spans are slow, and their events
//	why/whyfacts           facts that events do not tell: processes, cgroups, files, places
//	why/story              the causes in words
//
// What a script author sees is builtins/, stdlib/ is written with it, and
// cmd/ppscript puts both on a command line.
//
// # Words
//
// One word has one meaning, in code, messages and documents.
//
//	agg        an operator that keeps numbers for each key
//	attr       how an event is opened: perf_event_attr in the kernel
//	batch      a slice of events on their way through the operators; all of
//	           them are views that die when the call returns
//	bounds     how far a ring can be read: known is final, visible is there
//	callchain  the return addresses of a sample, innermost first
//	comm       the name of a thread: at most 15 bytes, may change at any time
//	CPU        a logical CPU by its kernel number
//	context member  a sample member that only the kernel knows while the event
//	           happens: nr_running, irqs_off, prio; programs of the kernel tell it
//	delivery   how the results of an operator reach the user
//	derived event  an event made here from others: a pair, a fold's output
//	edge       the events of a stream on their way to an operator of the plan,
//	           with the conditions between, or out of the kernel
//	event      one occurrence, as seen by us: a view of a record
//	field      a named value of an event: a sample member, a part of the raw
//	           record, or a value computed here
//	fold       an operator that keeps a small state machine for each key
//	frame      one function of a stack; inlined ones are frames too
//	instance   a plan that runs, with the state of its operators
//	key        the value by which events are related or grouped
//	loss       events that are missing, and the time from the record of the
//	           ring before them to the one after
//	mapping    a file mapped into a process at an address
//	nested     said of pairs that lie in each other as calls do
//	node       an event to open, or an operator, in the graph of a plan
//	pair       a derived event of a start and an end with one key; has a delay
//	pass       a step of planning, which annotates nodes and edges
//	perf clock the clock of the samples' times; int64 ns, not wall time
//	period     how much a sample stands for: events, or ns of a clock
//	pid, tid   process (thread group) and thread; the kernel's record calls
//	           them pid and tid as well, tracepoint fields named pid are tids
//	plan       what will be opened and computed; a value that can be printed
//	raw        the tracepoint's own bytes within a sample
//	record     one entry of a ring: a header, then a sample or a side record
//	ring       memory that the kernel fills with records, for a CPU or thread
//	sample     a record of a stream: the event happened, or its period ran out
//	sample member  what every sample can have, whatever its event: time, tid, cpu
//	schema     the fields of one kind of event: where each lies, its type
//	session    one run of a plan
//	side record  COMM, FORK, EXIT, MMAP, LOST and the like: not a sample
//	source     a door: live perf, a file; for a script what it takes events of:
//	           an event to open, another profiler
//	stage      one of the places of a join: start, end, what is between
//	stream     one opened event of a source; two streams can share a schema
//	tracepoint a static event of the kernel, "sched:sched_switch"
//	timeline   the events of the recent past, kept to show what happened during
//	           a slow pair
//	unpaired   said of an event of a join that stays without a partner
//	view       memory that belongs to somebody else; copy it to keep it
//	watermark  the time up to which all rings have been seen
//	workload   the command after "--": started, traced and waited for
//
// # Loss
//
// Each kind of loss has one word, one counter in event.Loss, and is shown in
// every result that it touches.
//
//	lost       dropped by the kernel: the ring was full
//	dropped    dropped by us: a bound on memory was hit
//	late       came after its time had passed: order could not place it, since
//	           the CPU was interrupted for long while it wrote the record
//	truncated  shorter than its schema says: not decoded
//	broken     seen, but a loss may have touched it: the state of a key, the
//	           waiting half of a pair; given up, and not among the missing
//	unmatched  one half of a pair, whose other half was not seen
//	evicted    the state of a key was pushed out by a bound
//	errors     a per-event function failed
//	throttled  the kernel paused sampling, since it took too long
//	ended early  a sender, connection or recording ended before its writer
//	           said so; how much is missing is not known
package runtime
