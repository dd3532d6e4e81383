package session

import (
	"ppscript/runtime/event"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
	"slices"
)

// An eventKind is a kind of events that the kernel has. Each is a file of its own
// and a line in eventKinds.
type eventKind interface {
	// names reports that a source names events of this kind.
	names(s *plan.Source) bool
	// find finds the events that a source names, on this machine.
	find(c *catalog, s *plan.Source) ([]*event.Schema, error)
	// recorded reports that an event of a recording is one that a source names.
	recorded(s *plan.Source, schema *event.Schema) bool
	// configure completes how a source's event is opened. The plan reads these
	// members of its samples.
	configure(c *catalog, ev *perf.EventConfig, s *plan.Source, members []event.Member)
}

// eventKinds are asked in this order: the first that a source names is its kind.
var eventKinds = []eventKind{
	tracepointEvents{},
	probeEvents{},
	memoryAccesses{},
	pmuEvents{},
	namedEvents{}, // of all other sources
}

func kindOf(s *plan.Source) eventKind {
	return eventKinds[slices.IndexFunc(eventKinds, func(k eventKind) bool { return k.names(s) })]
}

// nothingMore is of kinds whose events are opened as their schemas say.
type nothingMore struct{}

func (nothingMore) configure(*catalog, *perf.EventConfig, *plan.Source, []event.Member) {}
