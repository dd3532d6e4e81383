package plan

import (
	"fmt"
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/flow"
)

// fedNode is a root that the session feeds, not the router: with what it reads
// of counters, or with records about the kernel.
type fedNode struct{ next flow.Fan }

func (n *fedNode) attach(s flow.Sink) { n.next.Next = append(n.next.Next, s) }

// Slots of a counter's event.
const (
	CounterName = iota
	CounterValue
	CounterCPU
	CounterThread
	CounterEnabled
	CounterRunning
	CounterOrder
	CounterSlots
)

// counterSchema describes what a read of a counter tells. Value is the
// difference to the read before; enabled and running are, too.
func counterSchema() *event.Schema {
	slot := func(i int, name, typ string, kind event.Kind, u event.Unit) event.Field {
		return event.Field{Name: name, Type: typ, Kind: kind, Place: event.InSlot, Offset: i, Unit: u, Signed: true, Size: 8}
	}
	return &event.Schema{System: "counter", Name: "counter", Fields: []event.Field{
		slot(CounterName, "event", "char[]", event.Str, event.NoUnit),
		slot(CounterValue, "value", "u64", event.Int, event.NoUnit),
		slot(CounterCPU, "cpu", "int", event.Int, event.NoUnit),
		slot(CounterThread, "tid", "int", event.Int, event.NoUnit),
		slot(CounterEnabled, "enabled", "u64", event.Int, event.Nanos),
		slot(CounterRunning, "running", "u64", event.Int, event.Nanos),
		slot(CounterOrder, "order", "int", event.Int, event.NoUnit),
	}}
}

// A CounterSet is the counters of one Counters stream.
type CounterSet struct {
	operator
	Spec    *Counters
	Schemas []*event.Schema
	Sources []*Source
	Stream  *event.Stream // of the events made from reads
	Sink    flow.Sink
}

func (*CounterSet) inKernel() (kernelOp, string) { return kernelOp{}, "counters are read" }
func (*CounterSet) notSent() string              { return notOnlyTracepoints }

func (c *Counters) branches(b *builder) ([]branch, error) {
	if b.env.Replay {
		return nil, diag.Errorf(diag.Usage, "counters", "", "a recording holds samples, not counters").
			WithHint("run it live, without --input")
	}
	n, set := &fedNode{}, &CounterSet{Spec: c}
	for _, s := range c.In {
		if s.Pulled() || len(s.Attr("push")) > 0 {
			return nil, diag.Errorf(diag.Usage, "counters", s.FullName(), "what is counted in the kernel is neither sent nor received").
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
	set.Stream = b.madeStream(counterSchema())
	set.Sink = &n.next
	b.add(set)
	return []branch{{root: n, stream: set.Stream.Index, scope: b.scope(nil, set.Stream.Schema)}}, nil
}

// explainSources writes what is opened as counters.
func (c *CounterSet) explainSources(w *strings.Builder) {
	for i, s := range c.Schemas {
		fmt.Fprintf(w, "  counter %s", s.FullName())
		if f := c.Sources[i].Filter; f != "" {
			fmt.Fprintf(w, "  filter, in the kernel: %s", f)
		}
		w.WriteByte('\n')
	}
}
