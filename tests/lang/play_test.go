package lang

import (
	"context"
	"fmt"
	"strings"

	"ppscript/builtins/pipeline"
	"ppscript/builtins/results"
	"ppscript/runtime/event"
	"ppscript/runtime/event/eventtest"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// This file plays events that a chunk has as text (see eventtest.Capture)
// through a pipeline of the chunk. Every pipeline runs in both engines, which
// must agree.

// play(events, stream or result) returns the list of output lines: the events
// of a stream, "3us ran=2us"; the rows of a table, "bash 3"; and losses, "loss
// evicted 1". tier = "native" also requires that no function is interpreted;
// end = n ends an interval after the n-th event.
func play(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var text, engine string
	var what starlark.Value
	end := 0
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "events", &text, "what", &what, "tier?", &engine,
		"end?", &end); err != nil {
		return nil, err
	}
	var lines [2][]string
	for i, interpret := range []bool{false, true} {
		c, err := eventtest.ParseText(text)
		if err != nil {
			return nil, err
		}
		p := &player{capture: c, native: engine == "native" && !interpret, end: end}
		if lines[i], err = p.run(what, interpret); err != nil {
			return nil, err
		}
	}
	native, interpreted := strings.Join(lines[0], "\n"), strings.Join(lines[1], "\n")
	if native != interpreted {
		return nil, fmt.Errorf("the tiers differ:\nnative\n%s\ninterpreted\n%s", native, interpreted)
	}
	out := make([]starlark.Value, len(lines[0]))
	for i, l := range lines[0] {
		out[i] = starlark.String(l)
	}
	return starlark.NewList(out), nil
}

// A player implements plan.Host: it receives the results of the operators in
// chunks.
type player struct {
	plan.Host
	capture *eventtest.Capture
	native  bool
	end     int
	lines   []string
	loss    event.Loss
	failed  error
}

// Find implements plan.Catalog.
func (p *player) Find(s *plan.Source) ([]*event.Schema, error) {
	if found := p.capture.Find(s.System, s.Name); found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("event %s is not declared", s.FullName())
}

func (p *player) run(what starlark.Value, interpret bool) ([]string, error) {
	var report plan.Report
	switch w := what.(type) {
	case *pipeline.Stream:
		report = &plan.Log{In: w.S}
	case results.Reporter:
		report = w.Plan()
	default:
		return nil, fmt.Errorf("got %s, want a stream or a result", what.Type())
	}
	pl, err := plan.Build([]plan.Report{report}, plan.Env{Catalog: p, Replay: true, Interpret: interpret,
		Services: &expr.Services{Traced: func(int32) bool { return true }}})
	if err != nil {
		return nil, err
	}
	if p.native && len(pl.Interpreted) > 0 {
		return nil, fmt.Errorf("%s", pl.Interpreted[0])
	}
	if _, err := p.deliver(pl); err != nil {
		return nil, err
	}
	p.tellLoss()
	return p.lines, nil
}

// deliver runs a plan and delivers its results to the player.
func (p *player) deliver(pl *plan.Plan) (*plan.Instance, error) {
	in, list := pl.Instantiate(), pl.Deliver(p)
	for i, d := range list {
		if d == nil {
			continue
		}
		if err := d.Begin(context.Background(), in.Running[i]); err != nil {
			return nil, err
		}
	}
	p.feed(in)
	if p.failed != nil {
		return nil, p.failed
	}
	p.loss.Add(in.Loss())
	last := &plan.Interval{Final: true, About: result.Meta{Final: true, End: in.Router.Last}}
	for _, d := range list {
		if d == nil {
			continue
		}
		if err := d.Tick(last); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// feed passes the events to an instance in time order, as the session does.
func (p *player) feed(in *plan.Instance) {
	to := make([][]*event.Stream, len(p.capture.Streams))
	for _, e := range in.Events {
		for i, st := range p.capture.Streams {
			if st.Schema == e.Stream.Schema {
				to[i] = append(to[i], in.Stream(e.Stream))
			}
		}
	}
	in.Router.Remap = to
	for i := range p.capture.Events {
		in.Router.Events([]*event.Event{&p.capture.Events[i]})
		if i+1 == p.end {
			in.End(false, 0)
		}
	}
	in.End(true, 0)
}

func (p *player) tellLoss() {
	for _, c := range []struct {
		name string
		n    uint64
	}{
		{"dropped", p.loss.Dropped},
		{"broken", p.loss.Broken},
		{"evicted", p.loss.Evicted},
		{"errors", p.loss.Errors},
	} {
		if c.n > 0 {
			p.lines = append(p.lines, fmt.Sprintf("loss %s %d", c.name, c.n))
		}
	}
}

// Fail implements plan.Host.
func (p *player) Fail(err error) { p.failed = err }

// Missing implements plan.Host.
func (p *player) Missing(_ *plan.Interval, own event.Loss) event.Loss {
	p.loss.Add(own)
	return own
}

// Tables implements plan.Host.
func (p *player) Tables() plan.Delivery { return &played{to: p} }

// Lines implements plan.Host.
func (p *player) Lines() plan.Delivery { return &played{to: p} }

// A played is the delivery of a table or of a log.
type played struct {
	plan.NoDelivery
	to    *player
	table *plan.Table // nil for a log
}

func (d *played) Begin(_ context.Context, op plan.Running) error {
	switch op := op.(type) {
	case *plan.Table:
		d.table = op
	case *plan.LogRun:
		op.Emit = func(e *event.Event) { d.to.lines = append(d.to.lines, line(e)) }
	}
	return nil
}

func (d *played) Tick(t *plan.Interval) error {
	if d.table == nil {
		return nil
	}
	table, err := d.table.Result(t.About)
	if err != nil {
		return err
	}
	d.to.Missing(t, d.table.Group.Loss())
	return d.to.Table(table)
}

// Table implements plan.Host: it adds the rows of a table to the lines.
func (p *player) Table(t *result.Table) error {
	for _, row := range t.Rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, valueText(v))
		}
		p.lines = append(p.lines, strings.Join(cells, " "))
	}
	return nil
}

func line(e *event.Event) string {
	out := []string{valueText(event.DurationOf(int64(e.Time)))}
	for i := range e.Stream.Schema.Fields {
		f := &e.Stream.Schema.Fields[i]
		out = append(out, f.Name+"="+valueText(f.Value(e)))
	}
	return strings.Join(out, " ")
}

func valueText(v event.Value) string {
	if v.Kind == event.TimeValue {
		v = event.DurationOf(v.Int())
	}
	x := value.ToStarlark(v)
	if s, ok := starlark.AsString(x); ok {
		return s
	}
	return x.String()
}
