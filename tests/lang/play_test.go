package lang

import (
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

// This file plays events that a chunk writes down as text (see
// eventtest.Capture) through a pipeline of the chunk. Every pipeline runs in
// both engines, which must agree.

// play(events, stream or result) is the list of the lines that come out: of a
// stream its events, "3us ran=2us"; of a table its rows, "bash 3"; and what
// was lost, "loss evicted 1". tier = "native" also asks that nothing is
// interpreted; end = n ends an interval behind the n-th event.
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

type player struct {
	capture *eventtest.Capture
	native  bool
	end     int
	lines   []string
	loss    event.Loss
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
	in := pl.Instantiate()
	for _, l := range plan.Runs[*plan.LogRun](in) {
		l.Emit = func(e *event.Event) { p.lines = append(p.lines, line(e)) }
	}
	var failed error
	for _, x := range plan.Runs[*plan.EachRun](in) {
		x.Stop = func(err error) { failed = err }
	}
	p.feed(in)
	if failed != nil {
		return nil, failed
	}
	return p.lines, p.finish(in)
}

// feed gives the events to an instance, in time order as the session does.
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

func (p *player) finish(in *plan.Instance) error {
	for _, t := range plan.Runs[*plan.Table](in) {
		r, err := t.Result(result.Meta{})
		if err != nil {
			return err
		}
		p.rows(r)
		p.loss.Add(t.Group.Loss())
	}
	for _, s := range plan.Runs[*plan.SilencesRun](in) {
		r, err := s.Result(result.Meta{Final: true, End: in.Router.Last}, 0)
		if err != nil {
			return err
		}
		p.rows(r)
		p.loss.Add(s.Missing())
	}
	for _, f := range plan.Runs[*plan.FoldRun](in) {
		p.loss.Add(f.Fold.Loss())
	}
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
	return nil
}

// rows adds the rows of a table to the lines.
func (p *player) rows(t *result.Table) {
	for _, row := range t.Rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, valueText(v))
		}
		p.lines = append(p.lines, strings.Join(cells, " "))
	}
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
