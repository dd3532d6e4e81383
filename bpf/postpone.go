package bpf

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/join"
)

// This file makes an event at the begin of a system call wait for the end of the call if a
// group reads a text of the process that is not in memory. The fields that the group reads wait
// together with the texts, as the start of a pair does, and a program at the end of the call
// brings them to the group. All other events, nearly all, are counted at once.
//
// An event whose call does not end while programs run is in no group, and counts as unmatched. An
// operator that depends on the order of events, such as a fold or the aggregates first and last,
// cannot take events later.

// postponed describes how the events of a feed wait for texts of the process.
type postponed struct {
	join *joinOp // only for its memory: the event is its start, and it has no end
	feed feed    // receives the event at the end of the call
	end  state.CallEnd
}

// postpones makes the events of a feed wait for missing texts, if the feed reads texts of
// the process and its events may come later.
func (s *layout) postpones(source int, f *feed, host *Host) {
	e := s.sources[source]
	if f.table == nil || !hook.BeginsCall(e.Schema) || len(state.UserTextsOf(f.nodes()...)) == 0 {
		return
	}
	ordered := slices.ContainsFunc(f.table.Spec.Aggs, func(a agg.Agg) bool {
		return a.Op == agg.First || a.Op == agg.Last
	})
	end, ok := state.CallEndOf(e.Schema, host.Event)
	waits := host.TaskStorage && !s.counted && !s.weighed
	if !ok || ordered || !waits || slices.ContainsFunc(f.keys, hook.IsStack) {
		return // see userText of package eval
	}
	s.waiting++
	l := &postponed{end: end}
	l.join = &joinOp{spec: &join.Spec{}, Join: eval.Join{Index: len(s.joins) + s.waiting}}
	later := func(nodes []expr.Node) (ns []expr.Node) {
		for _, n := range nodes {
			ns = append(ns, expr.Rebind(n, expr.Self, expr.Start))
		}
		return ns
	}
	l.feed = feed{preds: later(f.preds), grouping: grouping{table: f.table, keys: later(f.keys)}}
	for _, a := range f.args {
		a.fn, a.where = expr.Rebind(a.fn, expr.Self, expr.Start), expr.Rebind(a.where, expr.Self, expr.Start)
		a.rank = expr.Rebind(a.rank, expr.Self, expr.Start)
		l.feed.args = append(l.feed.args, a)
	}
	p := &pair{start: source, feeds: []feed{l.feed}}
	s.saves(l.join, p)
	l.join.keepsTexts(s, p, true)
	f.late = l
}

// env is the environment of expressions at the end of a call: they read the
// waiting event as the start of a pair.
func (l *postponed) env(source int) eval.Env {
	return eval.Env{Pair: &eval.Pair{Join: &l.join.Join, Start: source}}
}

// size is the size of a waiting event in bytes: its texts, then its saved
// fields. saved is where the fields begin.
func (l *postponed) size() int { return l.saved() + l.join.Waits.Size() - state.WaitingFields }

func (l *postponed) saved() int { return state.CallTextsSize(l.join.Texts.Most()) }

// postponed calls fn for each feed whose events wait for texts, with its source.
func (s *layout) postponed(fn func(source int, f *feed)) {
	for i, e := range s.sources {
		for k := range e.feeds {
			if f := &e.feeds[k]; f.late != nil {
				fn(i, f)
			}
		}
	}
}

// awaits makes evaluation jump to the returned label when a text of the event is not in memory;
// nil if events of the feed cannot wait. It evaluates the texts of a table's arguments here,
// before the event is counted: afterwards the event could not wait any more.
func (o *grouper) awaits(f *feed) *label {
	if f.late == nil {
		return nil
	}
	c := o.code
	late := c.Label()
	o.eval.Late = &late
	for _, a := range f.args {
		for _, n := range state.UserTextsOf(a.fn, a.where, a.rank) {
			mark := c.Stack
			o.eval.AllocText(n)
			c.Stack = mark
		}
	}
	return &late
}

// postpone generates code that lets the event at hand wait.
func (o *grouper) postpone(l *postponed) {
	c := o.code
	mark := c.Stack
	full, end := c.Label(), c.Label()
	j := &joiner{gate: o.gate, join: l.join, input: o.eval.Hook.Index}
	now, value := c.Alloc(8), c.Alloc(l.join.Waits.Size())
	c.Zero(now, 8)
	j.fill(value, now)
	j.keepTexts(true, full)
	for at := state.WaitingFields; at < l.join.Waits.Size(); at += 8 {
		c.Load(asm.R1, value+int16(at))
		c.Emit(asm.StoreMem(asm.R8, int16(l.saved()+at-state.WaitingFields), asm.R1, asm.DWord))
	}
	o.count(load.StatPostponed)
	c.GoTo(end)
	c.Place(full)
	o.count(o.unit.Table.StatEvicted())
	c.Place(end)
	c.Stack = mark
}

// postponed adds the programs at the end of calls that bring events to their groups.
func (im *Image) postponed(code func() *code) {
	im.layout.postponed(func(source int, f *feed) {
		l, label := f.late, im.layout.sources[source].Label
		h := hook.New(code(), im.host, &Event{Schema: l.end.Schema, Label: label}, source, im.Target)
		g := im.newGen(h)
		if im.layout.weighed {
			g.gate.share = state.KeyShare{Code: h.Code, Stats: load.StatsMap.Of(source)}
		}
		c, none := h.Code, h.Code.Label()
		c.Emit(asm.Mov.Reg(asm.R6, asm.R1))
		k := state.CallTextKeeper{Code: c, Map: load.CallTextMap.Of(l.join.Index)}
		k.Waiting(none)
		c.FindScratch(none)
		ret := c.Alloc(8)
		h.Record(asm.R0, l.end.Schema.Fields[0].Offset, 8, true)
		c.Store(ret, asm.R0)
		k.Again(len(l.join.Texts), ret, none)
		fields := make([]int16, len(l.join.Waits.Fields))
		for i, sf := range l.join.Waits.Fields {
			fields[i] = c.Alloc(sf.Size)
			for at := 0; at < sf.Size; at += 8 {
				c.Emit(asm.LoadMem(asm.R1, asm.R8, int16(l.saved()+sf.Off-state.WaitingFields+at), asm.DWord))
				c.Store(fields[i]+int16(at), asm.R1)
			}
		}
		g.gate.count(load.StatCame)
		switch {
		case byKey(im.layout):
			g.gate.share.Passed()
		case im.layout.weighed:
			g.gate.share.Weight = assembler.Moment(c)
		}
		g.gate.eval.Env = eval.Env{Pair: &eval.Pair{Join: &l.join.Join, Start: source, Fields: fields}}
		g.feed(&l.feed)
		c.Place(none)
		c.Reached()
		c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
		im.scratch(c)
		im.Programs = append(im.Programs, load.Program{Label: "texts of " + label, Kind: h.Kind,
			Attach: l.end.Schema.FullName(), ID: l.end.ID, Ins: c.Finish(), Event: -1})
	})
}
