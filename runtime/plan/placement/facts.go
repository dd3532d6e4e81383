package placement

import (
	"slices"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/system/kernel"
)

// Facts are the facts of a plan, beside its graph, that decide where its parts run.
type Facts struct {
	Reads Reads
	// Unsent says why no program can send the records of the events; "" if one may.
	Unsent string
	// Stacked names an event whose stacks are wanted; "" if there is none. Programs send
	// stacks with the output of joins and folds, and keep them with events around pairs.
	Stacked string
	// Lines says that thread and process of events are shown. Newest says that
	// only the last events are wanted, which stay in rings until the end.
	Lines, Newest bool
	// Whole says that a recording, or a receiver elsewhere, must have all events.
	Whole bool
}

// Reads lists the fields that the plan's functions read of events.
type Reads struct {
	Programs []*expr.Program
	// Names are the names that interpreted functions read, of pairs within pairs also
	// their parts as "start.end"; Exact is false if these are not all known.
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
	// Read is the read of the kernel's memory, Schema the event that it is done
	// for; nil if unknown.
	Read   *event.Field
	Schema *event.Schema
	// Optional marks a read that only makes results finer. A plan that cannot send it leaves it out.
	Optional bool
}

// A TextUse is a function that reads a text of the process.
type TextUse struct {
	Prog   *expr.Program
	Native *expr.Native
	Stream int           // the stream of the events that it reads
	Schema *event.Schema // of the event whose process has the text; nil if unknown
}

// The engines that a user can ask for.
const (
	EngineAuto = "auto" // the kernel where it can
	EnginePerf = "perf" // never the kernel; so is ""
	EngineBPF  = "bpf"  // the kernel, or an error
)

// An Env has the facts of the kernel that decide whether programs run; the zero Env
// allows none.
type Env struct {
	Engine string
	// Host is the kernel and Target the set of threads that programs are
	// generated for. No says why programs cannot run here, or with these
	// options; "" if they can.
	Host   *bpf.Host
	Target *bpf.Target
	No     string
	// HostNo says why Host is not known.
	HostNo string
	// Idle names the CPUs for which perf delivers no events of a part while they are idle; "" if
	// none are known, nil if this is not checked.
	Idle func(kernel.IdlePart) string
	// Hiding names BPF programs of other tools that hide an event's hits from perf; "" if none are
	// known, nil if this is not checked.
	Hiding func(s *event.Schema) string
	// OnlyCounted reports that the kernel can count an event but not sample it; nil if this is not
	// checked.
	OnlyCounted func(s *event.Schema) bool
	// NoProjection says why programs must not send events; "" if they may.
	NoProjection string
	// ConvertsTimes says that times are shown on another clock than the
	// kernel's.
	ConvertsTimes bool
	// Intervals says that results are shown during the run, not only at its
	// end.
	Intervals bool
	// Counted makes programs count the events that they take, by CPU. NoKernel
	// says why events must come to ppscript; "" if they need not.
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

// Stacks has the settings for call stacks.
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

// partOf returns the schemas of a stream's parts: its own schema, or the
// schemas of a pair's two events.
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
