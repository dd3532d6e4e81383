// Package runtime is the map of the data's journey, from the kernel to the
// screen. It has no code; the packages are one level down. tests/layout says
// which of them may import which and fails when one does otherwise.
//
// # The journey
//
// Whatever the door, what comes in is events with a schema, delivered by an
// event.Source; everything after it reads events and knows no door.
//
//	unit       quantities: read "10ms", print "1.5MiB"
//	diag       errors with a subject and a hint; missing kernel support
//	glob       patterns of names: * ? [a-z]
//	plain      text from elsewhere, made harmless
//	privilege  what the caller may do with files, apart from what we may do
//	sandbox    what a run does not need once it has begun is given up
//	outfile    the files that results go to
//	infile     files, or pipes, that are read whole
//	memory     what a run holds, within one bound
//	limits     what the code of scripts may take
//	event      the waist: Schema, Type, Event, Stream, Source, Ring, Loss
//	kernel     facts of this kernel; the doctor
//	cri        asks runtimes of containers for names
//	cgroup     whose a process is: container, pod, unit
//	kerneltype the C types of the running kernel (BTF)
//	expr       per-event code: one typed program, from C text or from Starlark
//	cexpr      C expressions, of users and of print formats, as programs of expr
//	tracefs    tracepoints: their formats, and how the kernel prints them
//	workload   the command that is observed: held until its events are attached
//	datasrc    where the data of a memory access came from, in words
//	tsc        the CPU's counter, and clocks of guests
//	poll       who waits for rings sleeps until something comes
//	ringbuf    the buffers through which programs of the kernel send
//	latetext   texts that come later than their events
//	sent       records that programs of the kernel send, as events
//	window     events that programs of the kernel keep, the newest of each CPU
//	perf       live source: perf_event_open, rings, records
//	watched    the threads that the user named, as they come and go
//	cost       what observing costs
//	bytecursor numbers, texts and sizes off bytes that cannot be trusted
//	tracedat   files of trace-cmd: what they say, and their records by time
//	perfdata   recorded source: perf.data files
//	identity   who we and our peers are, for TLS
//	relay      events sent elsewhere and received, as recordings
//	eventtext  events that people write down, made into recordings
//	dso        the files that code was mapped from, also of the dead
//	debuginfod programs and debug files by build-id, from servers
//	jitdump    what compilers tell of the code that they make at run time
//	task       who: threads, processes, names, mappings over time
//	symbol     where: addresses to names
//	unwind     callers without frame pointers
//	stack      call stacks to small numbers
//	probe      where dynamic probes and breakpoints go, what their samples tell
//	result     what comes out: Table, Histogram, Stacks, Log; values, not text
//	key        keys of groups and joins to dense rows
//	order      rings merged by time, without copying
//	sideband   records about processes, beside events that stay in the kernel
//	wallclock  times of events on other clocks: the time of day, a guest's
//	demand     what sources must deliver: members of samples, time order
//	flow       how slices of events pass from one operator to the next
//	join       events related by a key: pairs, latencies, timelines
//	agg        events grouped by a key: count, sum, quantile, top
//	fold       a state machine for each key, which emits events
//	why        where the time of spans went, from the events around them
//	silence    times in which a key has no events, whatever order these come in
//	overlap    spans of time split by others: a system call by when its thread was off
//	slowspan   which spans are slow, and their events, for why
//	whyfacts   what events do not tell of them: processes, cgroups, files, places
//	sql        events as rows of tables, and questions to them
//	story      where the time of slow spans went, in words
//	timeline   what happened when: slices, instants, switches, wake-ups, counters
//	output     results in the forms of other tools, a package for each
//	render     results as text, JSON, CSV, Markdown
//	chart      results drawn in a terminal: bars, heat maps, lines
//	picture    files that show a run: flame graphs, folded stacks, pprof, heat maps
//	interpreter which functions of Python, Ruby, PHP run in stacks
//	naming     stacks to functions: what names need, and how long it is kept
//	listing    the code of a function beside its samples
//	eventspec  events as scripts name them
//	patience   how long files may be read for names when a run should end
//	reading    events that nobody sends: reads of counters, records of the kernel
//	view       how results are shown: columns, order, texts
//	placement  where the parts of a plan run: the kernel, or here
//	plan       what a script asked for, checked and optimised; opens nothing
//	shown      what scripts show, for who takes them as sources
//	eventstring events as users write them on a command line
//	budget     what observing may cost, and which events count for it
//	inview     whom programs of the kernel observe
//	arrival    what programs of joins keep: what waits, and the tree of calls
//	eventkind  the kinds of events of this machine: found, recognized, configured
//	database   databases of plans: opened, filled, asked
//	facility   what of the kernel a plan needs
//	chance     how likely numbers are by chance alone
//	outlier    machines that differ from the others, by their numbers
//	partial    results of one machine, to be put together with those of others
//	compare    what changed between two runs, and whether that is more than noise
//	slots      events in slots of time, for a budget
//	session    opens a plan, runs it, drains it, closes it
//	value      durations, times and sizes as scripts compute with them
//	option     the options that scripts declare
//	script     the Starlark host
//	eventview  events as values of the script
//	direct     functions that stay interpreted, as closures
//	frontend   per-event functions of scripts, typed and turned into expr
//	library    libraries of scripts, with versions
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
//	derived event  an event made here from others: a pair, a fold's output
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
//	pair       a derived event of a start and an end with one key; has a delay
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
