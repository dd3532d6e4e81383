// Package eventkind knows the kinds of events that this kernel has: it finds those
// that a source names, recognizes them in recordings, and completes how they are
// opened. It opens none; the session does.
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

// A kind is one of the kinds of events that the kernel has. Each is a file of its own
// and a line in kinds.
type kind interface {
	// names reports that a source names events of this kind.
	names(s *plan.Source) bool
	// find finds the events that a source names, on this machine.
	find(c *Finder, s *plan.Source) ([]*event.Schema, error)
	// recorded reports that an event of a recording is one that a source names.
	recorded(s *plan.Source, schema *event.Schema) bool
	// configure completes how a source's event is opened. The plan reads these
	// members of its samples.
	configure(c *Finder, ev *perf.EventConfig, s *plan.Source, members []event.Member)
}

// kinds are asked in this order: the first that a source names is its kind.
var kinds = []kind{
	tracepointEvents{},
	probeEvents{},
	memoryAccesses{},
	sysfsEvents{},
	pmuEvents{}, // those by number
	toolEvents{},
	namedEvents{}, // of all other sources
}

func kindOf(s *plan.Source) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.names(s) })]
}

// nothingMore is of kinds whose events are opened as their schemas say.
type nothingMore struct{}

func (nothingMore) configure(*Finder, *perf.EventConfig, *plan.Source, []event.Member) {}

// A Finder finds events of this machine. Plans may be built several times: what it
// finds for a source stays.
type Finder struct {
	Symbols *symbol.Kernel
	// Place appends the symbol of an address of an event; nil: of the kernel only.
	Place func(dst []byte, e *event.Event, ip uint64) []byte
	// Say tells the user something; Note what is only kind to know, once.
	Say, Note func(line string)
	// Describes says that nothing will be opened: where tracefs may not be read, shipped formats will do.
	Describes bool
	// PID is the process that is observed, for probes in its files; 0 is none or
	// several.
	PID int

	fs     *tracefs.FS // found at the first tracepoint
	probes probes
	// accesses are the events of memory accesses that were found, named those that
	// sysfs names.
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

// Configure completes how the event of a source is opened. The plan reads these
// members of its samples.
func (c *Finder) Configure(ev *perf.EventConfig, s *plan.Source, members []event.Member) {
	ev.Pattern = patternOf(s)
	kindOf(s).configure(c, ev, s, members)
}

// Opened is an event of a source as samples and counters open it, before Configure completes it.
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

// Instead says that formats come from another machine's kernel, and why; "" if from this one's.
func (c *Finder) Instead() string {
	if c.fs == nil {
		return ""
	}
	return c.fs.Instead()
}

// Tracefs is the directory of the formats; "" before the first tracepoint.
func (c *Finder) Tracefs() string {
	if c.fs == nil {
		return ""
	}
	return c.fs.Root()
}

// Close frees what finding needed.
func (c *Finder) Close() error { return c.probes.resolver.Close() }

// Recorded reports that an event of a recording is one that a source names.
func Recorded(s *plan.Source, schema *event.Schema) bool { return kindOf(s).recorded(s, schema) }
