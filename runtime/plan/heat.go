package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/unit"
)

// Heat writes the time and a number of every event to files that heat map
// tools read, one file for each kind of event or pair, and with By for each value of it:
// PREFIX-EVENT.lat.
type Heat struct {
	In     Stream
	Value  Fn
	By     Fn
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
	by    *flow.Fn
	show  view.Show
}

// A HeatRun is a HeatOp that runs. Session sets Write before events flow.
type HeatRun struct {
	running
	*HeatOp
	flow.Values
	// WriteBy takes the place of Write if the files are by a value, whose text it gets.
	WriteBy func(stream int, by string, at event.Time, value event.Number)

	frame expr.Frame
	key   []byte
	texts map[string]string // of values, by their bytes as a key
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
	if h.By.Given() {
		if op.by, err = b.keyFn(h.By, brs); err != nil {
			return err
		}
		op.show = b.prints.Of(op.by)
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

// mostByTexts bounds the texts that are remembered.
const mostByTexts = 1 << 12

// Events implements flow.Sink.
func (h *HeatRun) Events(evs []*event.Event) {
	if h.by == nil {
		h.Values.Events(evs)
		return
	}
	for _, e := range evs {
		h.frame.Reset(e)
		prog := h.by.For(e)
		n := h.value.For(e).AsNumber(&h.frame)
		h.key = key.Append(h.key[:0], prog, &h.frame)
		if h.frame.Err != nil {
			h.Errs.Note(&h.frame)
			continue
		}
		text, known := h.texts[string(h.key)]
		if !known {
			text = h.textOf(prog)
		}
		h.WriteBy(e.Stream.Index, text, e.Time, n)
	}
}

// textOf is the text of the value of h.key.
func (h *HeatRun) textOf(prog *expr.Program) string {
	v, _ := key.Take(h.key, prog)
	text := v.String()
	if h.show != nil {
		if shown, ok := h.show(v); ok {
			text = shown
		}
	}
	if len(h.texts) >= mostByTexts || h.texts == nil {
		h.texts = map[string]string{}
	}
	h.texts[string(h.key)] = text
	return text
}

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
