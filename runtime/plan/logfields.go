package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/result/view"
)

// show prepares the fields of a log.
func (l *Log) show(b *builder, brs []branch) (*view.Fields, error) {
	s := &view.Fields{Stacks: carried(b, brs)}
	fn := func(f Fn) (*flow.Fn, error) { return b.fn(f.forPeople(), brs, expr.Any) }
	var err error
	if l.Heading != nil {
		if s.Heading, err = fn(*l.Heading); err != nil {
			return nil, err
		}
	}
	if l.Text != nil {
		if s.Text, err = fn(*l.Text); err != nil {
			return nil, err
		}
	}
	for _, v := range l.Fields {
		value, err := fn(v.Fn)
		if err != nil {
			return nil, err
		}
		s.Names, s.Values = append(s.Names, v.Name), append(s.Values, value)
	}
	s.Streams = make([]*event.Stream, len(b.plan.streams))
	for _, br := range brs {
		s.Streams[br.stream] = b.madeStream(s.Schema(br.scope.Schema, br.stream, &b.prints))
	}
	return s, nil
}
