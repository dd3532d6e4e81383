package placement

import (
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/system/kernel"
)

// Facts are what must be known of a plan beside its graph to decide where its parts run.
type Facts struct {
	Reads Reads
	// Unsent says why no program can send the records of the events; "" if one may.
	Unsent string
	// Stacked says of which event somebody wants the stacks; "" if of none. Programs send
	// them with the events that joins and folds make, and keep them of events around pairs.
	Stacked string
	// Lines says that somebody shows whose an event is, Newest that only the last
	// events are wanted, which stay in rings until the end.
	Lines, Newest bool
	// Whole says that a recording, or a receiver elsewhere, must have all events.
	Whole bool
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
	// Idle names the CPUs of whose idle task perf delivers no events of a part; "" if none is known, nil if
	// nobody asks.
	Idle func(kernel.IdlePart) string
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
	BudgetRules
	// KeptBytes and KeptCPUs are the memory of each CPU for events that programs keep
	// to show what happened during a pair, and how many CPUs share what the plan
	// allows for all; 0 is no bound on that.
	KeptBytes, KeptCPUs int
	Stacks
}

// Stacks is what must be known of call stacks.
type Stacks struct {
	// MaxStack is the most addresses that the kernel finds in a stack.
	MaxStack int
}

// BudgetRules says how a budget may bound a plan. The zero value is a run without a budget.
type BudgetRules struct {
	On bool
	// NoSlots is why events must not come in slots of time; "" if they may.
	NoSlots string
}

// joins are the joins of the plan, in whichever engine they run.
func (p *Placer) joins() []*graph.Operator {
	var list []*graph.Operator
	for _, n := range p.Nodes {
		if n.Op != nil && n.Op.Join != nil {
			list = append(list, n.Op)
		}
	}
	return list
}

// isUnpaired reports that a stream consists of events without a partner in a join.
func (p *Placer) isUnpaired(stream int) bool {
	return slices.ContainsFunc(p.joins(), func(op *graph.Operator) bool {
		return slices.ContainsFunc(op.Join.Streams, func(st *event.Stream) bool {
			return st != nil && st.Index == stream
		})
	})
}

// partOf returns the schemas of a stream's parts: its own, or those of the
// events of a pair.
func (p *Placer) partOf(stream int) func(expr.Part) *event.Schema {
	return func(part expr.Part) *event.Schema {
		if part == expr.Self {
			return p.Streams[stream].Schema
		}
		for _, op := range p.joins() {
			for s, ends := range op.Join.Pairs {
				for e, st := range ends {
					switch {
					case st == nil || st.Index != stream:
					case part == expr.Start:
						return p.Streams[s].Schema
					case part == expr.End:
						return p.Streams[e].Schema
					}
				}
			}
		}
		return nil
	}
}
