// Package eventkind has the kinds of events that the kernel offers: tracepoints,
// probes, events of PMUs and so on. For each kind it finds the events that a
// source names on this machine, recognizes them in recordings, and completes the
// parameters with which they are opened. The session opens them.
package eventkind

import (
	"errors"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// A kind is one kind of events of the kernel. Each kind has a file of its own and an
// entry in kinds.
type kind interface {
	// names reports that a source names events of this kind.
	names(s *plan.Source) bool
	// find finds the events that a source names, on this machine.
	find(c *Finder, s *plan.Source) ([]*event.Schema, error)
	// recorded reports that an event of a recording is one that a source names.
	recorded(s *plan.Source, schema *event.Schema) bool
	// configure completes the configuration of a source's event. members are
	// the sample members that the plan reads.
	configure(c *Finder, ev *perf.EventConfig, s *plan.Source, members []event.Member)
}

// kinds in the order in which they are tried: a source belongs to the first
// kind whose names method returns true.
var kinds = []kind{
	tracepointEvents{},
	probeEvents{},
	memoryAccesses{},
	sysfsEvents{},
	pmuEvents{}, // events of a PMU by number
	toolEvents{},
	namedEvents{}, // all other sources
}

func kindOf(s *plan.Source) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.names(s) })]
}

// nothingMore is embedded in kinds whose events need no parameters beyond their
// schemas.
type nothingMore struct{}

func (nothingMore) configure(*Finder, *perf.EventConfig, *plan.Source, []event.Member) {}

// A Finder finds events of this machine. It caches the events of each source,
// since a plan may be built several times.
type Finder struct {
	Symbols *symbol.Kernel
	// Place appends the symbol of a code address of an event; if it is nil, only
	// addresses of the kernel get symbols.
	Place func(dst []byte, e *event.Event, ip uint64) []byte
	// Say prints a message for the user. Note prints less important
	// information, once each.
	Say, Note func(line string)
	// Describes says that no events will be opened: if tracefs cannot be read, the shipped formats
	// are used.
	Describes bool
	// PID is the process that is observed, for probes in its files; 0 is none or
	// several.
	PID int

	fs     *tracefs.FS // found at the first tracepoint
	probes probes
	// The events that were found: of memory accesses, and with names in sysfs.
	accesses map[*event.Schema]kernel.MemoryEvent
	named    map[*event.Schema]kernel.NamedEvent
}

// Find finds the events that a source names.
func (c *Finder) Find(s *plan.Source) ([]*event.Schema, error) {
	schemas, err := kindOf(s).find(c, s)
	if err != nil && c.Describes && s.Kind != eventspec.Tracepoint && diag.ClassOf(err) != diag.Usage &&
		!kernel.HasSysfs(kernel.Roots{}) {
		err = &diag.Unverified{Feature: s.FullName(), Why: errNoSysfs}
	}
	return schemas, err
}

var errNoSysfs = errors.New("sysfs is not mounted")

// Configure completes the configuration of a source's event. members are the
// sample members that the plan reads.
func (c *Finder) Configure(ev *perf.EventConfig, s *plan.Source, members []event.Member) {
	ev.Pattern = patternOf(s)
	kindOf(s).configure(c, ev, s, members)
}

// Opened returns the configuration of a source's event, for sampling or counting, before
// Configure completes it.
func Opened(s *plan.Source, schema *event.Schema, label, filter string) perf.EventConfig {
	x := s.Exclude
	return perf.EventConfig{
		Schema:   schema,
		Label:    label,
		Filter:   filter,
		CPUs:     s.CPUs,
		Optional: s.Optional,
		Exclude: perf.Exclude{
			User: x.User, Kernel: x.Kernel, Hypervisor: x.Hypervisor, Host: x.Host, Guest: x.Guest,
		},
		EventAttr: perf.EventAttr{Precise: s.Precise, Pinned: s.Pinned},
	}
}

// Instead returns the message that the shipped formats of another kernel are used, and why; ""
// if the formats are this machine's.
func (c *Finder) Instead() string {
	if c.fs == nil {
		return ""
	}
	return c.fs.Instead()
}

// Tracefs returns the directory of tracefs; "" before the first tracepoint was
// looked up.
func (c *Finder) Tracefs() string {
	if c.fs == nil {
		return ""
	}
	return c.fs.Root()
}

// Close closes the files that were opened to find probes.
func (c *Finder) Close() error { return c.probes.resolver.Close() }

// Recorded reports that an event of a recording is one that a source names.
func Recorded(s *plan.Source, schema *event.Schema) bool { return kindOf(s).recorded(s, schema) }
