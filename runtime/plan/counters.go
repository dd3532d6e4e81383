package plan

import (
	"fmt"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/flow"
	"ppscript/runtime/placement"
	"ppscript/runtime/reading"
)

// A CounterOp is the counters of one Counters stream.
type CounterOp struct {
	operator
	Spec    *Counters
	Schemas []*event.Schema
	Sources []*Source
	stream  *event.Stream
}

func (*CounterOp) inKernel() (placement.Work, string) { return placement.Work{}, "counters are read" }
func (*CounterOp) notSent() string                    { return notOnlyTracepoints }

// A CounterSet is a CounterOp that runs: the session makes its events.
type CounterSet struct {
	running
	outlet
	*CounterOp
	Stream *event.Stream // of the events made from reads
}

func (op *CounterOp) instantiate(in *Instance) Running {
	return &CounterSet{CounterOp: op, Stream: in.Stream(op.stream)}
}

func (op *CounterOp) emitter(in *Instance) emitter { return in.runs[op].(*CounterSet) }

// Sink takes the events that the session makes.
func (c *CounterSet) Sink() flow.Sink { return &c.next }

func (c *Counters) branches(b *builder) ([]branch, error) {
	if b.env.Replay {
		return nil, diag.Errorf(diag.Usage, "counters", "", "a recording holds samples, not counters").
			WithHint("run it live, without --input")
	}
	set := &CounterOp{Spec: c}
	for _, s := range c.In {
		if s.Pulled() || len(s.Attr("push")) > 0 {
			return nil, diag.Errorf(diag.Usage, "counters", s.FullName(),
				"what is counted in the kernel is neither sent nor received").
				WithHint("leave out push= and pull=")
		}
		schemas, err := b.env.Catalog.Find(s)
		if err != nil {
			if s.Optional {
				b.leaveOut(s, err)
				continue
			}
			return nil, err
		}
		for _, schema := range schemas {
			set.Schemas = append(set.Schemas, schema)
			set.Sources = append(set.Sources, s)
		}
	}
	if len(set.Schemas) == 0 {
		return nil, diag.Errorf(diag.Attach, "counters", "", "none of the events exists here").
			WithHint("list the events: ppscript list")
	}
	set.stream = b.madeStream(reading.CounterSchema())
	b.plan.add(set)
	return []branch{{root: set, stream: set.stream.Index, scope: b.scope(nil, set.stream.Schema)}}, nil
}

// explainSources writes what is opened as counters.
func (op *CounterOp) explainSources(w *strings.Builder) {
	for i, s := range op.Schemas {
		fmt.Fprintf(w, "  counter %s", s.FullName())
		if f := op.Sources[i].Filter; f != "" {
			fmt.Fprintf(w, "  filter, in the kernel: %s", f)
		}
		w.WriteByte('\n')
	}
}
