package bpf

import (
	"ppscript/bpf/features"
	"ppscript/runtime/plan/graph"
)

// A Host lists the features of this kernel for generated programs.
type Host = features.Host

// A Part is the part of a plan's graph that is to run inside the kernel: the events that it
// begins with, and the edges along which they, and the events that operators make of them,
// go on. They are the graph's own, and so are the operators. Generate reads all of it and
// changes none of it.
type Part struct {
	Events []*Event
	// Edges lead to operators, or out of the kernel; those of one stream are
	// followed in this order. Their streams are the streams of Events, or are made by
	// operators that other edges lead to.
	Edges []*Edge
	// Intervals says that groups are read and emptied while events come;
	// each then has two generations of maps.
	Intervals bool
	// Counted makes each program count the events that it takes, by CPU.
	Counted bool
	// Weighed lets a budget leave events out; events that count have weights.
	Weighed bool
	// KeptBytes bounds the memory of each CPU for kept events.
	KeptBytes int
}

// The plan's nodes and edges, of which programs are generated.
type (
	// An Edge brings the events of a stream to an operator, or out of the kernel.
	Edge = graph.Edge
	// A Record describes the fields that are sent of an event.
	Record = graph.Record
	// An Event is one tracepoint, one probe, or one event of perf that is sampled.
	Event = graph.Event
	// A Probe says that an event is a probe.
	Probe = graph.Probe
	// A StackSpec says which part of an event's stack is wanted.
	StackSpec = graph.StackSpec
)
