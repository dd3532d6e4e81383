package bpf

import (
	"ppscript/bpf/features"
	"ppscript/bpf/hook"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/operator/join"
)

// A Host lists the features of this kernel for generated programs.
type Host = features.Host

// A Part is the part of a plan that shall run inside the kernel: the events that
// it begins with, and the edges along which they, and what operators make of
// them, go on. The operators are those of the plan, as it gives them to the native
// engine too. Generate reads all of it and changes none of it.
type Part struct {
	Events []*Event
	// Edges lead to operators, or out of the kernel; those of one stream are
	// followed in this order. Their streams are those of Events, or are made by
	// operators that other edges lead to.
	Edges []*Edge
	// Intervals says that groups are read and emptied while events come;
	// each then has two generations of maps.
	Intervals bool
	// Counted has each program count the events that it takes, by CPU.
	Counted bool
	// Weighed lets a budget leave events out; those that count have weights.
	Weighed bool
	// KeptBytes bounds the memory of each CPU for kept events.
	KeptBytes int
}

// What calls a program.
type (
	// An Event is one tracepoint, one probe, or one event of perf that is sampled.
	Event = hook.Event
	// A Probe says that an event is a probe.
	Probe = hook.Probe
	// A StackSpec says which part of an event's stack is wanted.
	StackSpec = hook.StackSpec
)

// An Edge brings the events of a stream for which all of Preds hold to an
// operator, or out of the kernel. One of Group, Join, Fold and Send is given.
type Edge struct {
	Name   string // of the operator, for people
	Stream int
	Preds  []expr.Node

	Group *agg.Spec
	Join  *join.Spec
	Fold  *fold.Spec
	Send  *Record
	// Keep, beside Join, has its fields kept for who shows what happened during a pair;
	// nil keeps nothing.
	Keep *Record
}

// A Record is what is sent of an event.
type Record struct {
	// Fields are those that somebody reads, of the event itself: numbers and
	// texts of its record, context members. Those of a pair are of its start and of
	// its end, and may be arrays.
	Fields []*expr.Field
	// Whole sends the whole record, with Fields (context members) in front.
	Whole bool
	// Texts are addresses of texts of the process, which follow all else.
	Texts []expr.Node
	// Around adds to what a fold emits the event with which its state began, and the one
	// at hand.
	Around bool
	// Context adds, of both events of a pair, of the event of a probe, or of a whole record,
	// what the kernel puts into the common fields of their records.
	Context bool
	// Stacks adds the stacks of both events of a pair, as far as they have one.
	Stacks bool
}
