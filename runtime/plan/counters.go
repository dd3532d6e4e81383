package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/source/reading"
	"ppscript/runtime/text/diag"
)

// A CounterOp is the operator that Build makes of a Counters stream.
type CounterOp struct {
	step
	Spec    *Counters
	Schemas []*event.Schema
	Sources []*Source
	// Calls are the counters that a program counts; nil if all are counters of perf.
	Calls  *CountedCalls
	stream *event.Stream
}

func (*CounterOp) inKernel() (graph.Work, string) { return graph.Work{}, "counters are read" }
func (*CounterOp) notSent() string                { return notOnlyTracepoints }

// A CounterSet is a CounterOp in an instance. The session reads the counters
// and makes the events.
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
	var hits []branch
	for _, s := range c.In {
		if s.Pulled() || len(s.Attr("push")) > 0 {
			return nil, diag.Errorf(diag.Usage, "counters", s.FullName(),
				"what is counted in the kernel is neither sent nor received").
				WithHint("leave out push= and pull=")
		}
		schemas, err := b.env.Catalog.Find(s)
		if err != nil {
			if s.Optional {
				s.Quiet = s.Quiet || c.Missing
				b.leaveOut(s, err)
				continue
			}
			return nil, err
		}
		for _, schema := range schemas {
			if c.Hits && schema.Weighted() {
				br, err := b.hits(s, schema)
				if err != nil {
					return nil, err
				}
				hits = append(hits, br)
				continue
			}
			set.Schemas = append(set.Schemas, schema)
			set.Sources = append(set.Sources, s)
		}
	}
	if c.Runs > 1 && len(hits) > 0 {
		return nil, diag.Errorf(diag.Usage, "counters", "hits", "they are counted in one run of a command").
			WithHint("leave out runs, or hits = True")
	}
	if len(set.Schemas) == 0 && len(hits) > 0 {
		return hits, nil
	}
	if len(set.Schemas) == 0 {
		return nil, diag.Errorf(diag.Attach, "counters", "", "none of the events exists here").
			WithHint("list the events: ppscript list")
	}
	if c.Runs <= 1 {
		set.Calls = set.countedCalls(b)
	}
	set.stream = b.madeStream(reading.CounterSchema())
	b.plan.add(set)
	reads := branch{root: set, stream: set.stream.Index, scope: b.scope(nil, set.stream.Schema)}
	delete(reads.scope.Vars, "_"+eventName) // the field event is the name of the event that is counted
	return append([]branch{reads}, hits...), nil
}

// hits turns the hits of an event into reads of a counter that goes up by one with each. The
// kernel's own counter goes up by the hit's period instead.
func (b *builder) hits(s *Source, schema *event.Schema) (branch, error) {
	br := branch{stream: b.newStream(s, schema), scope: b.scope(s, schema)}
	br.scope.Stream = b.plan.streams[br.stream]
	if err := b.events[br.stream].filter(b, br.scope); err != nil {
		return br, err
	}
	sc := *br.scope
	sc.Vars = map[string]expr.Node{}
	maps.Copy(sc.Vars, br.scope.Vars)
	for name, text := range map[string]string{
		"event": strconv.Quote(br.scope.Stream.Label), "value": "1", "enabled": "0", "running": "0",
		"order": "0",
	} {
		p, err := b.compile(Fn{Text: text}, &br, expr.Any)
		if err != nil {
			return br, err
		}
		sc.Vars[name] = p.Node
	}
	br.scope = &sc
	return br, nil
}

// explainSources writes what is opened as counters.
func (op *CounterOp) explainSources(w *strings.Builder) {
	for i, s := range op.Schemas {
		fmt.Fprintf(w, "  counter %s", s.FullName())
		if f := op.Sources[i].Filter; f != "" {
			fmt.Fprintf(w, "  filter, in the kernel: %s", f)
		}
		if op.Calls.Has(i) {
			if slices.Contains(op.Calls.Of, i) {
				w.WriteString("  [one program counts all of these system calls]")
			} else {
				w.WriteString("  [a program counts it]")
			}
		}
		w.WriteByte('\n')
	}
}
