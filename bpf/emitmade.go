package bpf

import (
	"slices"

	"ppscript/bpf/eval"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file sends pairs whose start or end operators make: a pair has its delay, its key and
// what nests have, and what a fold emits has its values (sent.Made).

// schemaOf is the schema of an input.
func (s *graph) schemaOf(input int) *event.Schema {
	if e := s.sourceOf(input); e != nil {
		return e.Schema
	}
	m := &s.made[input-len(s.sources)]
	if m.fold != nil {
		return m.fold.spec.Out.Schema
	}
	return pairsOf(m.join.spec, s.streamOf(m.start), s.streamOf(m.end)).Schema
}

// sendsMade notes what is sent of a part of pairs, if operators make it; that of starts
// waits.
func (s *graph) sendsMade(j *joinOp, r *record, input int, part expr.Part) {
	if s.sourceOf(input) != nil {
		return
	}
	schema := s.schemaOf(input)
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if f.Kind != event.Int && f.Kind != event.Str || f.Stack() {
			refuse("field %s of %s is neither a number nor a text", f.Name, schema.Name)
		}
		own := &expr.Field{F: f}
		to := slot{field: &expr.Field{F: f, Part: part}, size: 8, text: f.Kind == event.Str, made: true}
		if to.text {
			s.origins(input, func(_ *source, in eval.Env) { to.size = max(to.size, in.FieldRoom(own)) })
		}
		if part == expr.Start {
			j.Waits.Save(state.Field{Name: state.FieldName(own), Of: own, Event: input, Size: to.size,
				Text: to.text})
			to.off = j.Waits.Fields[j.savedAt(input, state.FieldName(own))].Off
		}
		r.made = append(r.made, to)
	}
}

// sentPart says where a part of a pair stands in its record, if operators make it; else nil.
func (s *graph) sentPart(r *record, input int, part expr.Part) *sent.Made {
	if s.sourceOf(input) != nil {
		return nil
	}
	m := &s.made[input-len(s.sources)]
	schema := s.schemaOf(input)
	out := &sent.Made{Pair: m.fold == nil, Stream: &event.Stream{
		// Behind those of the events, by the number that it has in the plan.
		Index: len(s.sources) + m.stream, Schema: schema, Label: schema.FullName(),
	}}
	for _, to := range r.slots {
		f := to.field.F
		switch {
		case !to.made || to.field.Part != part:
		case f.Place == event.InMember:
			out.Delay = to.off
		default:
			for len(out.Values) <= f.Offset {
				out.Values = append(out.Values, sent.Value{Make: event.IntOf})
			}
			out.Values[f.Offset] = sent.Value{At: to.off, Size: to.size, Text: to.text, Make: f.Maker()}
		}
	}
	return out
}

// Origins are the sources of all that comes to a join, by index in Part.Events.
func (im *Image) Origins(of *join.Spec) (list []int) {
	s := im.graph
	var add func(input int)
	takers := func(found func(*feed) bool) {
		s.taking(found, func(e *source, _ eval.Env, _ *feed) { add(slices.Index(s.sources, e)) })
	}
	add = func(input int) {
		switch {
		case input < len(s.sources):
			if !slices.Contains(list, input) {
				list = append(list, input)
			}
		case s.made[input-len(s.sources)].fold != nil:
			fold := s.made[input-len(s.sources)].fold
			takers(func(f *feed) bool { return f.fold == fold })
		default:
			m := &s.made[input-len(s.sources)]
			add(m.start)
			add(m.end)
		}
	}
	for _, j := range s.joins {
		if j.spec == of {
			for i := range s.inputs() {
				if stream := s.streamOf(i); stream < len(of.In) && of.In[stream].Stage >= 0 {
					add(i)
				}
			}
		}
	}
	return list
}
