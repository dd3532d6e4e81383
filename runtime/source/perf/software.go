package perf

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

// This file has the names of events without a format in tracefs.

// alias is an event with its names in perf; the first name is shown.
type alias struct {
	names  []string
	config uint64
	about  string
}

var softwareEvents = []alias{
	{[]string{"cpu-clock"}, unix.PERF_COUNT_SW_CPU_CLOCK, "time of the CPU, whatever runs"},
	{[]string{"task-clock"}, unix.PERF_COUNT_SW_TASK_CLOCK, "time in which the task ran"},
	{[]string{"page-faults", "faults"}, unix.PERF_COUNT_SW_PAGE_FAULTS, "accesses to pages that are not mapped"},
	{[]string{"context-switches", "cs"}, unix.PERF_COUNT_SW_CONTEXT_SWITCHES, "changes of the task that runs"},
	{[]string{"cpu-migrations", "migrations"}, unix.PERF_COUNT_SW_CPU_MIGRATIONS, "moves of a task to another CPU"},
	{[]string{"minor-faults"}, unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, "page faults that need no disk"},
	{[]string{"major-faults"}, unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults that wait for a disk"},
	{[]string{"alignment-faults"}, unix.PERF_COUNT_SW_ALIGNMENT_FAULTS, "unaligned accesses that the kernel mends"},
	{[]string{"emulation-faults"}, unix.PERF_COUNT_SW_EMULATION_FAULTS, "instructions that the kernel emulates"},
	{[]string{"dummy"}, unix.PERF_COUNT_SW_DUMMY, "nothing: it carries records about tasks"},
	{[]string{"bpf-output"}, unix.PERF_COUNT_SW_BPF_OUTPUT, "records that programs of the kernel send"},
	{[]string{"cgroup-switches"}, unix.PERF_COUNT_SW_BPF_OUTPUT + 1, "switches between tasks of two cgroups"}, // since 5.13
}

var hardwareEvents = []alias{
	{[]string{"cpu-cycles", "cycles"}, unix.PERF_COUNT_HW_CPU_CYCLES, "cycles of the CPU, at the frequency that it has"},
	{[]string{"instructions"}, unix.PERF_COUNT_HW_INSTRUCTIONS, "instructions that were completed"},
	{[]string{"cache-references"}, unix.PERF_COUNT_HW_CACHE_REFERENCES, "accesses to the last-level cache, mostly"},
	{[]string{"cache-misses"}, unix.PERF_COUNT_HW_CACHE_MISSES, "of these, those that it did not have"},
	{[]string{"branch-instructions", "branches"}, unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches that were completed"},
	{[]string{"branch-misses"}, unix.PERF_COUNT_HW_BRANCH_MISSES, "branches that were predicted wrong"},
	{[]string{"bus-cycles"}, unix.PERF_COUNT_HW_BUS_CYCLES, "cycles of the bus"},
	{[]string{"stalled-cycles-frontend", "idle-cycles-frontend"}, unix.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "cycles without instructions to issue"},
	{[]string{"stalled-cycles-backend", "idle-cycles-backend"}, unix.PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "cycles that wait for operands or units"},
	{[]string{"ref-cycles"}, unix.PERF_COUNT_HW_REF_CPU_CYCLES, "cycles at one frequency"},
}

// The parts of a cache event's name: CACHE-OPs and CACHE-OP-misses, as in
// L1-dcache-load-misses.
var (
	caches   = []string{"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"}
	cacheOps = []string{"load", "store", "prefetch"}
	// cacheAbout describes the caches, in the same order.
	cacheAbout = []string{"the first cache of data", "the first cache of instructions", "the last cache",
		"the buffer of translations of data", "the buffer of translations of instructions",
		"the predictor of branches", "the node's memory"}
)

// cacheEvents has config = cache | op<<8 | result<<16.
var cacheEvents = func() []alias {
	var as []alias
	for c, cache := range caches {
		for op, name := range cacheOps {
			plural := "s"
			if name == "prefetch" {
				plural = "es"
			}
			config := uint64(c) | uint64(op)<<8
			as = append(as,
				alias{[]string{cache + "-" + name + plural}, config, name + plural + " of " + cacheAbout[c]},
				alias{
					[]string{cache + "-" + name + "-misses"},
					config | unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16,
					name + plural + " that " + cacheAbout[c] + " did not have",
				})
		}
	}
	return as
}()

// SoftwareSchema returns the schema of an event that the kernel counts,
// software:NAME. It has only sample members.
func SoftwareSchema(name string) (*event.Schema, error) {
	return namedSchema("software", unix.PERF_TYPE_SOFTWARE, softwareEvents, name)
}

// HardwareSchema returns the schema of a counter of the CPU, hardware:NAME. It
// does not check that this machine has the counter.
func HardwareSchema(name string) (*event.Schema, error) {
	return namedSchema("hardware", unix.PERF_TYPE_HARDWARE, hardwareEvents, name)
}

// CacheSchema returns the schema of a cache event, cache:NAME, such as
// L1-dcache-loads or LLC-load-misses.
func CacheSchema(name string) (*event.Schema, error) {
	return namedSchema("cache", unix.PERF_TYPE_HW_CACHE, cacheEvents, name)
}

// SoftwareNames, HardwareNames and CacheNames list the events of the three
// functions above, each with its first name.
func SoftwareNames() []string { return firstNames(softwareEvents) }
func HardwareNames() []string { return firstNames(hardwareEvents) }
func CacheNames() []string    { return firstNames(cacheEvents) }

func firstNames(as []alias) []string {
	names := make([]string, len(as))
	for i, a := range as {
		names[i] = a.names[0]
	}
	return names
}

// A NamedEvent is an event that has a name here, and no format in tracefs.
type NamedEvent struct {
	Name  string   // system:name
	Also  []string // further names
	About string   // what it counts
}

// NamedEvents lists the events of a system: software, hardware, cache.
func NamedEvents(system string) (list []NamedEvent) {
	for _, a := range map[string][]alias{
		"software": softwareEvents, "hardware": hardwareEvents, "cache": cacheEvents,
	}[system] {
		list = append(list, NamedEvent{Name: system + ":" + a.names[0], Also: a.names[1:], About: a.about})
	}
	return list
}

func namedSchema(system string, typ uint32, as []alias, name string) (*event.Schema, error) {
	var all []string
	for _, a := range as {
		if slices.ContainsFunc(a.names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return &event.Schema{System: system, Name: a.names[0], Type: typ, ID: a.config}, nil
		}
		all = append(all, a.names...)
	}
	return nil, diag.Errorf(diag.Attach, "open event", system+":"+name, "no such event%s",
		diag.DidYouMean(name, all)).
		WithHint("the %s events are %s", system, strings.Join(firstNames(as), " "))
}

// CountsHits reports that a counter of the schema adds 1 for each occurrence, not
// time or cycles.
func CountsHits(s *event.Schema) bool { return counts(s) && !s.Weighted() }

// CountUnit returns the unit of a counter of the schema: nanoseconds for the
// clocks and for sched_stat_*, else occurrences.
func CountUnit(s *event.Schema) event.Unit {
	if s.Type == unix.PERF_TYPE_SOFTWARE && !counts(s) || s.Weighted() {
		return event.Nanos
	}
	return event.CountOf
}
