// Package graph is a plan as a graph: the events to open and the operators are its nodes, and
// edges bring events from one to another. There is one graph for a plan, from the script to the
// programs of the kernel. Package plan makes it; the passes of package placement annotate its nodes
// and edges; bpf generates programs of the same nodes and edges; explain shows them. Nothing is
// copied on the way.
//
// It decides nothing, and opens nothing. The comment of a field names the pass that writes it.
package graph

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/operator/join"
)

// A Graph is the nodes and edges of a plan.
type Graph struct {
	// Nodes are the events, then the operators. Events describes the first nodes.
	Nodes  []*Node
	Events []*Event
	// Edges come in the order in which events pass them.
	Edges   []*Edge
	Streams []*event.Stream // of all events, by index
}

// AddEvent adds an event to open. Events come before operators.
func (g *Graph) AddEvent(e *Event) *Node {
	n := &Node{Name: e.Label, Event: e}
	g.Nodes, g.Events = append(g.Nodes, n), append(g.Events, e)
	return n
}

// Into lists the edges that lead to a node.
func (g *Graph) Into(n *Node) (list []*Edge) {
	for _, e := range g.Edges {
		if e.To == n {
			list = append(list, e)
		}
	}
	return list
}

// OutOf lists the edges that bring events of a stream directly from the node that
// opens it.
func (g *Graph) OutOf(e *Event) (list []*Edge) {
	for _, edge := range g.Edges {
		if edge.From.Event == e {
			list = append(list, edge)
		}
	}
	return list
}

// A Node is an event or an operator.
type Node struct {
	Name string
	// Event is set if the node is an event, Op if it is an operator.
	Event *Event
	Op    *Operator

	// Refusal says why no program can do its work; "" if one can, or nobody asked. The pass
	// collect writes it.
	Refusal string
	// Interpreted says that a function of its edges, or its own, stays interpreted. The pass
	// measure writes it.
	Interpreted bool
	// InKernel says that programs do its work. The pass cut writes it.
	InKernel bool
	// Where says where it runs, and Why why no program does its work; "" if one does, or for the
	// reason of the whole plan. The pass tell writes both.
	Where Place
	Why   string
}

// An Operator takes events, and may make others.
type Operator struct {
	// Work is the operator's description, which the native engine and bpf both read. KernelRefusal
	// says why no program can do the work on any host; "" if one may.
	Work
	KernelRefusal string

	// Around says that the events around the pairs of a join are kept, AroundBytes of them at most.
	Around      bool
	AroundBytes int
	// Explained says that no line shows these events: they tell where a pair's time went.
	Explained bool
	// Stateful says that it keeps state which a lost event would spoil: a join, a fold.
	Stateful bool
	// Starts and Records say that it may look at all of the record of a pair's
	// start, and of an event.
	Starts, Records bool
}

// Work holds the description of a join, a fold or a group; it is empty for
// other operators.
type Work struct {
	Join  *join.Spec
	Fold  *fold.Spec
	Group *agg.Spec
}

// An Edge brings the events of a stream from one node to another, if all of Preds
// hold, or out of the kernel.
type Edge struct {
	Name string // of the operator that takes them, for people
	// From makes the events, To takes them. An edge out of the kernel has neither: Send
	// describes the records that leave, for all operators that read them.
	From, To *Node
	Stream   int
	// Preds are all conditions on the way. Remaining are the conditions that ppscript checks where it takes
	// the events: the rest has been checked by programs, or by the kernel's filters.
	Preds, Remaining []*Pred
	// Bound is a condition that the operator checks itself in any case; nil if it has
	// none.
	Bound expr.Node
	// InUserSpace says that ppscript makes its events of the events of From.
	InUserSpace bool

	// Group is the group by which programs count the events. Keep describes the record that
	// they keep of each event, to show later what happened during a pair. Both may be nil. The
	// pass collect writes them.
	Group *agg.Spec
	Keep  *Record
	Send  *Record

	// Records is how many pass for each event of the sources, as estimated, and Bytes how many
	// bytes of fields are read in each. The pass measure writes them.
	Records float64
	Bytes   int
	// Crosses says that its events leave the kernel. The pass tell writes it.
	Crosses bool
}

// Join is the join at the edge's end; nil if the edge ends elsewhere.
func (e *Edge) Join() *join.Spec {
	if e.To == nil || e.To.Op == nil {
		return nil
	}
	return e.To.Op.Join
}

// Fold is the fold at the edge's end; nil if the edge ends elsewhere.
func (e *Edge) Fold() *fold.Spec {
	if e.To == nil || e.To.Op == nil {
		return nil
	}
	return e.To.Op.Fold
}

// A Pred is a predicate on the way of events.
type Pred struct {
	Text string
	Prog *expr.Program
	// State makes the program of a predicate that remembers events, anew for each run; Prog is then
	// a placeholder. It is nil if the predicate remembers nothing.
	State any
	// Checked says that a program checks it where its events are made, and that no one else does.
	// The pass that generates this program writes it.
	Checked bool
}

// Stateful reports that it remembers events.
func (p *Pred) Stateful() bool { return p.State != nil }

// Unchecked are the predicates that no program has checked.
func (e *Edge) Unchecked() (list []*Pred) {
	for _, p := range e.Preds {
		if !p.Checked {
			list = append(list, p)
		}
	}
	return list
}

// A Record describes the data that programs send, or keep, for one event.
type Record struct {
	// Fields are the event's fields that are copied: numbers and texts of its
	// record, context members. For a pair they are fields of its start and its end,
	// and may be arrays.
	Fields []*expr.Field
	// Whole sends the whole record, with Fields (context members) in front.
	Whole bool
	// Texts are addresses of texts of the process, which follow all else.
	Texts []expr.Node
	// FoldContext adds to an event that a fold emits two others: the event with which the
	// state began, and the event that caused the emission.
	FoldContext bool
	// Context adds the common fields that the kernel puts into records (common_flags and the
	// like): for both events of a pair, for a probe, or for a whole record.
	Context bool
	// Stacks adds the stacks of both events of a pair, as far as they have one.
	Stacks bool
}
