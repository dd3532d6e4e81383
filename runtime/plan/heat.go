package plan

import (
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/unit"
)

// Heat writes the time and a number of every event to files that heat map
// tools read, one file for each kind of event or pair: PREFIX-EVENT.lat.
type Heat struct {
	In     Stream
	Value  Fn
	Prefix string
}

// Input implements Report.
func (h *Heat) Input() Stream { return h.In }

// Shape implements Shaped.
func (*Heat) Shape() string { return "files" }

// A HeatOp writes the time and a number of each event.
type HeatOp struct {
	operator
	Spec *Heat
	// Names are the events' names in the names of the files, by stream.
	Names map[int]string
	// Unit is what the number measures.
	Unit unit.Unit

	name  string
	value *flow.Fn
}

// A HeatRun is a HeatOp that runs. Session sets Write before events flow.
type HeatRun struct {
	running
	*HeatOp
	flow.Values
}

func (h *Heat) build(b *builder) error {
	brs, err := b.existing("heatmap", h.In)
	if err != nil {
		return err
	}
	op := &HeatOp{Spec: h, Names: map[int]string{}}
	if op.value, err = b.fn(h.Value, brs, expr.Float); err != nil {
		return err
	}
	op.Unit = view.UnitOf(op.value.Any())
	for _, br := range brs {
		op.Names[br.stream] = fileName(b, br)
	}
	op.name = b.names.next("heatmap")
	b.plan.add(op)
	b.feed(feed{op: op, name: op.name}, brs)
	return nil
}

func (op *HeatOp) instantiate(in *Instance) Running {
	run := &HeatRun{HeatOp: op, Values: flow.Values{Of: op.value}}
	in.fails(op.name, &run.Errs, false)
	return run
}

func (h *HeatRun) sink(int) flow.Sink { return h }

func fileName(b *builder, br branch) string {
	if n, ok := br.root.(*JoinOp); ok {
		for s, ends := range n.js.Pairs {
			for e, st := range ends {
				if st != nil && st.Index == br.stream {
					return b.plan.shortLabel(branch{stream: s}) + "-" + b.plan.shortLabel(branch{stream: e})
				}
			}
		}
	}
	return b.plan.shortLabel(br)
}

func (*HeatOp) deliver(h Host) Delivery { return h.HeatMaps() }

func (*HeatOp) ofOneMachine() (what, why string) { return "heat map", "it goes to files" }

func (*HeatOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "a heat map has every event"
}
