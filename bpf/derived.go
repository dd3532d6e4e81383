package bpf

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/runtime/expr"
)

// This file is about joins of derived events: a pair, or an event that a fold emits, is a
// start or an end of another join. The program of the event that completed it runs the other
// join at once, with the time of that event.
//
// The events of a join are its inputs. An input is a number: first come the sources, then the
// streams that operators make. What waits of an event of such a stream is what somebody reads of
// it, as far as parts of parts of it.

// derived describes a stream of derived events that a join relates: pairs, or events
// that a fold emits.
type derived struct {
	stream int
	join   *joinOp // the join that makes the pairs; nil if a fold emits the events
	start  int     // inputs of that join
	end    int
	fold   *foldOp
}

// derivedOf finds a derived stream by its number; nil if there is none.
func (s *layout) derivedOf(stream int) *derived {
	for i := range s.derived {
		if s.derived[i].stream == stream {
			return &s.derived[i]
		}
	}
	return nil
}

// inputs is the number of inputs.
func (s *layout) inputs() int { return len(s.sources) + len(s.derived) }

// streamOf is the stream of an input.
func (s *layout) streamOf(input int) int {
	if input < len(s.sources) {
		return s.sources[input].Stream
	}
	return s.derived[input-len(s.sources)].stream
}

// sourceOf is the source that is an input; nil if it is a stream that operators make.
func (s *layout) sourceOf(input int) *source {
	if input < len(s.sources) {
		return s.sources[input]
	}
	return nil
}

// origins calls fn for each source whose program handles the events of an input, with the
// environment of expressions there.
func (s *layout) origins(input int, fn func(e *source, in eval.Env)) {
	if e := s.sourceOf(input); e != nil {
		fn(e, eval.Env{})
		return
	}
	m := &s.derived[input-len(s.sources)]
	if m.fold == nil {
		s.pairOrigins(m.join, m.start, m.end, fn)
		return
	}
	s.stepsOf(m.fold, func(e *source, _ eval.Env, _ *feed) { fn(e, m.fold.outEnv()) })
}

// pairOrigins is origins for the pairs of two inputs.
func (s *layout) pairOrigins(j *joinOp, start, end int, fn func(e *source, in eval.Env)) {
	s.origins(end, func(e *source, in eval.Env) {
		fn(e, eval.Env{Pair: &eval.Pair{Join: &j.Join, Start: start, End: in}})
	})
}

// outEnv is the environment for expressions over a fold's emitted events while
// layouts are settled.
func (f *foldOp) outEnv() eval.Env {
	return eval.Env{Out: &eval.EmitScope{Fold: &f.Fold, Sizes: f.emits}}
}

// taking calls fn for each feed that is to be found, with the sources whose programs have it
// and what its events are there.
func (s *layout) taking(found func(f *feed) bool, fn func(e *source, in eval.Env, f *feed)) {
	for _, e := range s.sources {
		for k := range e.feeds {
			if found(&e.feeds[k]) {
				fn(e, eval.Env{}, &e.feeds[k])
			}
		}
	}
	for _, j := range s.joins {
		for _, p := range j.pairs {
			for k := range p.feeds {
				if f := &p.feeds[k]; found(f) {
					s.pairOrigins(j, p.start, p.end, func(e *source, in eval.Env) { fn(e, in, f) })
				}
			}
		}
	}
	for _, before := range s.folds {
		for k := range before.feeds {
			if f := &before.feeds[k]; found(f) {
				s.stepsOf(before, func(e *source, _ eval.Env, _ *feed) { fn(e, before.outEnv(), f) })
			}
		}
	}
}

// isPrepared reports that an operator is prepared, or notes that it is from now on.
func (s *layout) isPrepared(op any) (already bool) {
	if s.prepared == nil {
		s.prepared = map[any]bool{}
	}
	already, s.prepared[op] = s.prepared[op], true
	return already
}

// prepareMakers prepares the operators whose output a join or a fold takes.
func (s *layout) prepareMakers(host *Host, takes func(f *feed) bool) {
	for _, j := range s.joins {
		for _, p := range j.pairs {
			if anyFeed(p.feeds, takes) {
				s.prepareJoin(j, host)
			}
		}
	}
	for _, f := range s.folds {
		if anyFeed(f.feeds, takes) {
			s.prepareFold(f, host)
		}
	}
}

func anyFeed(feeds []feed, found func(f *feed) bool) bool {
	return slices.ContainsFunc(feeds, func(f feed) bool { return found(&f) })
}

// readOf lists the fields that feeds, and joins behind them, read of their events.
func (s *layout) readOf(feeds []feed) (list []*expr.Field) {
	for k := range feeds {
		f := &feeds[k]
		for _, n := range f.nodes() {
			list = append(list, expr.UsesOf(n).Fields...)
		}
		if f.join == nil {
			continue
		}
		for _, p := range f.join.pairs {
			if p.start != f.input && p.end != f.input {
				continue
			}
			of := s.readOf(p.feeds)
			if p.start == f.input {
				list = append(list, inside(of, expr.Start)...)
			}
			if p.end == f.input {
				list = append(list, inside(of, expr.End)...)
			}
		}
	}
	return list
}

// nodes returns the nodes that a feed evaluates itself; some may be nil.
func (f *feed) nodes() []expr.Node {
	nodes := append([]expr.Node(nil), f.preds...)
	nodes = append(append(nodes, f.keys...), f.key, f.step, f.role)
	for _, a := range f.args {
		nodes = append(nodes, a.fn, a.where, a.rank)
	}
	return nodes
}

// inside converts fields of one of a pair's events into fields of the event
// itself.
func inside(fields []*expr.Field, part expr.Part) (own []*expr.Field) {
	for _, f := range fields {
		if rest, ok := f.Part.From(part); ok {
			own = append(own, &expr.Field{F: f.F, Part: rest, View: f.View})
		}
	}
	return own
}

// makes brings a pair to the operators that take it.
func (o *joiner) makes(p *pair, made *eval.Pair) {
	end := o.eval.Env
	made.End = end
	for k := range p.feeds {
		o.eval.Env = eval.Env{Pair: made}
		o.pairs(&p.feeds[k])
	}
	o.eval.Env = end
}

// now leaves the time of the event on the stack. The time is fetched only once for an event,
// so that a delay is exactly the difference of the times that are shown.
func (o *joiner) now() int16 {
	if o.chained || o.eval.Members.WantsTime() {
		return o.eval.Members.Time()
	}
	c := o.code
	now := c.Alloc(8)
	c.Call(asm.FnKtimeGetNs)
	c.Store(now, asm.R0)
	return now
}
