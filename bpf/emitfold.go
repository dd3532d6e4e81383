package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/outbox"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/record/sent"
)

// This file sends what folds emit: the edge out of the kernel lies behind a fold, and
// only the emitted events leave for which its predicates hold. A record has all values
// of the event, and the key of the state if that is a number (runtime/source/perf/emitted.go).

// layEmitted settles the places in the record of what a fold emits.
func (r *record) layEmitted(f *foldOp) {
	if r.Whole || len(r.Fields)+len(r.Texts) > 0 {
		refuse("fields of events that a fold works on")
	}
	if f.spec.Begin > 0 && !r.Around {
		refuse("events that a fold keeps")
	}
	r.values, r.size = nil, 0
	for _, size := range f.emits {
		r.values = append(r.values, sent.Value{At: r.size, Size: size})
		r.size += size
	}
	if f.keyed() {
		r.key = r.size
		r.size += 8
	}
	if r.size > 3*state.WaitingLimit/2 {
		refuse("%d bytes of each emitted event", r.size)
	}
	if r.Around {
		r.around = r.size
		r.size += 2 * (sent.AroundHead + f.around.size)
	}
}

// keyed reports that the key of a fold is one number.
func (f *foldOp) keyed() bool { return len(f.Cols) == 1 && !f.Cols[0].Text && !f.Cols[0].Stack }

// Emits are the streams of what folds emit that the programs send.
func (im *Image) Emits() (emits []sent.Emits, streams []int) {
	for _, f := range im.graph.folds {
		for _, feed := range f.feeds {
			r := feed.emit
			if r == nil {
				continue
			}
			st := f.spec.Out
			e := sent.Emits{Schema: st.Schema, Label: st.Label, Size: r.size, Around: im.aroundOf(f, r)}
			for k, v := range r.values {
				v.Text = st.Schema.Fields[k].Kind == event.Str
				v.Make = st.Schema.Fields[k].Maker()
				e.Values = append(e.Values, v)
			}
			if f.keyed() {
				e.Values = append(e.Values, sent.Value{At: r.key, Size: 8, Make: event.IntOf})
			}
			emits, streams = append(emits, e), append(streams, st.Index)
		}
	}
	return emits, streams
}

// emitted sends an emitted event if all predicates hold.
func (s *sender) emitted(f *feed) {
	c, r, out := s.code, s.record, s.eval.Env.Out
	mark := c.Stack
	data := outbox.Record{Size: sent.HeadSize + r.size, Stream: r.stream}
	s.fixed(f, &data, func() {
		store := func(at int) { c.Store(data.At+int16(sent.HeadSize+at), asm.R0) }
		if r.Around {
			s.around()
			data.Length = c.Alloc(8)
			c.Zero(data.Length, 8)
			store = func(at int) { c.Emit(asm.StoreMem(asm.R7, int16(at), asm.R0, asm.DWord)) }
		} else {
			data.At = c.Alloc(data.Size)
		}
		for i, v := range r.values {
			for o := 0; o < v.Size; o += 8 {
				c.Load(asm.R0, out.Places[i]+int16(o))
				store(v.At + o)
			}
		}
		if s.fold.keyed() {
			c.Load(asm.R0, out.Key)
			store(r.key)
		}
	})
	c.Stack = mark
}

// numberSent gives each stream that operators make and that leaves the kernel its
// number behind those of the events: pairs, in the order of Pairs, then what folds
// emit, in the order of Emits, and events without a partner, in that of Lefts.
func (s *graph) numberSent() {
	for i, r := range s.sentMade() {
		r.stream = len(s.sources) + i
	}
}

// sentMade are the records that leave the kernel of what operators make.
func (s *graph) sentMade() (list []*record) {
	for _, j := range s.joins {
		for k := range j.pairs {
			for _, f := range j.pairs[k].feeds {
				if f.emit != nil {
					f.emit.pair = true
					list = append(list, f.emit)
				}
			}
		}
	}
	for _, o := range s.folds {
		for _, f := range o.feeds {
			if f.emit != nil {
				f.emit.emitted = true
				list = append(list, f.emit)
			}
		}
	}
	for _, j := range s.joins {
		for i := range j.lefts {
			list = append(list, j.lefts[i].record())
		}
	}
	return list
}
