package placement

import (
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/operator/join"
)

// A Graph is a plan, as far as it matters where its parts run. Its nodes are the
// events and then the operators; an index of a node counts both.
type Graph struct {
	Events    []*Event
	Operators []*Operator
	// Edges come in the order in which events pass them.
	Edges   []*Edge
	Streams []*event.Stream // of all events, by index
	Reads   Reads

	// Unsent says why no program can send the records of the events; "" if one may.
	Unsent string
	// Stacked says of which event somebody wants the stacks; "" if of none. Programs send
	// them with what joins and folds make, and keep them of what happens around pairs.
	Stacked string
	// Lines says that somebody shows whose an event is, Newest that only the last
	// events are wanted, which stay in rings until the end.
	Lines, Newest bool
	// Whole says that somebody must have all events: a recording, or who gets them elsewhere.
	Whole bool
}

// An Event is one to open.
type Event struct {
	Stream *event.Stream
	// Program is the event as a program takes it; Err says why that is not known.
	Program *bpf.Event
	Err     error
	// Outside says why no program takes its occurrences; "" if one can.
	Outside string
	// From is where its records come from if no program takes it.
	From Place
	// Samples says that it is sampled by the software or the CPU, and that a program
	// may decide about each sample.
	Samples bool
}

// An Operator takes events, and may make others.
type Operator struct {
	Name string
	// Work is what programs know of its work, No says why none can do it; "" if one
	// may.
	Work
	No string

	// Pairs is the join if it is one, whoever does the work, and Around says that
	// the events around its pairs are kept, AroundBytes of them at most.
	Pairs       *join.Spec
	Around      bool
	AroundBytes int
	// Explained says that no line shows these events: they tell where a pair's time went.
	Explained bool
	// Keeps says that it keeps state which a lost event would spoil: a join, a fold.
	Keeps bool
	// Starts and Records say that it may look at all of the record of a pair's
	// start, and of an event.
	Starts, Records bool
}

// Work is what programs know of an operator: one of the three.
type Work struct {
	Join  *join.Spec
	Fold  *fold.Spec
	Group *agg.Spec
}

// An Edge brings the events of a stream from one node to another, if all of Preds
// hold.
type Edge struct {
	Name     string // of who takes them, for people
	From, To int    // nodes
	Stream   int
	Preds    []*Pred
	// Bound is a condition of the taker itself, which checks it in any case; nil if
	// it has none.
	Bound expr.Node
	// Here says that its events are made of those of From in ppscript.
	Here bool

	records float64 // that pass for each event of the sources, as estimated
}

// A Pred is a predicate on the way of events.
type Pred struct {
	Text string
	Prog *expr.Program
	// Keeps says that it remembers events: the program only stands for it.
	Keeps bool
}

// Reads is what the functions of the plan read of events.
type Reads struct {
	Programs []*expr.Program
	// Names are what interpreted functions read; Exact is false if that is not known.
	Names []string
	Exact bool

	Contexts []ContextUse
	Texts    []TextUse
	// Asks are the streams whose events are checked for their thread.
	Asks map[int]bool
}

// A ContextUse is a function that reads a sample member that its events do not carry, or
// a text of the process.
type ContextUse struct {
	Prog  *expr.Program
	Name  string
	Label string
	Text  bool
	// Read is a read of the kernel's memory, and Schema of which event; nil is not
	// known.
	Read   *event.Field
	Schema *event.Schema
	// Optional marks a read that only makes results finer. A plan that cannot send it leaves it out.
	Optional bool
}

// A TextUse is a function that reads a text of the process.
type TextUse struct {
	Prog   *expr.Program
	Native *expr.Native
	Stream int           // whose events it looks at
	Schema *event.Schema // of the event in whose process it is; nil is not known
}

// The engines that a user can ask for.
const (
	EngineAuto = "auto" // the kernel where it can
	EnginePerf = "perf" // never the kernel; so is ""
	EngineBPF  = "bpf"  // the kernel, or an error
)

// An Env is what must be known of the kernel to decide; the zero Env is against it.
type Env struct {
	Engine string
	// Host and Target are what programs are generated for. No says why they
	// cannot run here, or for these options; "" if they can.
	Host   *bpf.Host
	Target *bpf.Target
	No     string
	// HostNo says why there is no Host.
	HostNo string
	// Idle names the CPUs of whose idle task perf delivers no events, though programs see them; "" if none
	// is known, nil if nobody asks.
	Idle func() string
	// OnlyCounted reports that the kernel lets an event be counted and not sampled; nil if nobody knows.
	OnlyCounted func(s *event.Schema) bool
	// NoProjection says why programs must not send events; "" if they may.
	NoProjection string
	// ConvertsTimes says that times are not shown as the kernel tells them.
	ConvertsTimes bool
	// Intervals says that there are results while the run goes on.
	Intervals bool
	// Counted has programs count the events that they take, by CPU; NoKernel
	// says why events must come out of the kernel, "" if they need not.
	Counted  bool
	NoKernel string
	// Weighed says that there is a budget: programs may leave events out, so that they must do all
	// of the plan's work.
	Weighed
	// KeptBytes and KeptCPUs are the memory of each CPU for events that programs keep
	// for who shows what happened during a pair, and how many CPUs share what the plan
	// allows for all; 0 is no bound on that.
	KeptBytes, KeptCPUs int
	Stacks
}

// Stacks is what must be known of call stacks.
type Stacks struct {
	// MaxStack is the most addresses that the kernel finds in a stack.
	MaxStack int
}

// Weighed says how a budget may bound a plan; the zero Weighed is that there is none.
type Weighed struct {
	On bool
	// NoSlots is why events must not come in slots of time; "" if they may.
	NoSlots string
}

// edgesOf are the edges along which events of a stream come from an event to open.
func (g *Graph) edgesOf(e *Event) []*Edge {
	var list []*Edge
	for _, edge := range g.Edges {
		if edge.From < len(g.Events) && g.Events[edge.From] == e {
			list = append(list, edge)
		}
	}
	return list
}

// joins are the joins of the plan, whoever does their work.
func (g *Graph) joins() []*Operator {
	var list []*Operator
	for _, op := range g.Operators {
		if op.Pairs != nil {
			list = append(list, op)
		}
	}
	return list
}

// left reports that a stream is of events that stay without a partner in a join.
func (g *Graph) left(stream int) bool {
	return slices.ContainsFunc(g.joins(), func(op *Operator) bool {
		return slices.ContainsFunc(op.Pairs.Left, func(st *event.Stream) bool {
			return st != nil && st.Index == stream
		})
	})
}

// partOf returns the schemas of a stream's parts: its own, or those of the
// events of a pair.
func (g *Graph) partOf(stream int) func(expr.Part) *event.Schema {
	return func(p expr.Part) *event.Schema {
		if p == expr.Self {
			return g.Streams[stream].Schema
		}
		for _, op := range g.joins() {
			for s, ends := range op.Pairs.Pairs {
				for e, st := range ends {
					switch {
					case st == nil || st.Index != stream:
					case p == expr.Start:
						return g.Streams[s].Schema
					case p == expr.End:
						return g.Streams[e].Schema
					}
				}
			}
		}
		return nil
	}
}
