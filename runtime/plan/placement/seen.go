package placement

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file finds what those read outside to whom programs send pairs. It is the same for all
// pairs, of which a join of many functions makes one of each two.

// What is seen of pairs.
type seen struct {
	want map[*event.Field]bool // of either event
	// all says that somebody wants each field, named the name of the thread, context that
	// somebody may see what was disabled: in lines, or by its name.
	all, named, context bool
	possible            bool // programs can send it
	inside              bool // events of pairs within pairs, or nobody knows
}

// seen finds it.
func (p *Placer) seen() *seen {
	reads := &p.Reads
	s := &seen{want: map[*event.Field]bool{}, all: !reads.Exact, named: p.Lines, possible: true,
		inside: !reads.Exact}
	s.context = s.all || s.named || slices.Contains(reads.Names, "irqs_disabled") ||
		slices.Contains(reads.Names, "tif_need_resched")
	for _, n := range p.nodes {
		if n.op != nil && n.no != "" {
			s.all = s.all || n.op.Starts || n.op.Records
			s.context = s.context || n.op.Records
		}
	}
	for _, prog := range reads.Programs {
		if prog.Node == nil {
			s.all, s.inside = true, true
			continue
		}
		s.inside = s.inside || slices.ContainsFunc(expr.UsesOf(prog.Node).Fields, func(f *expr.Field) bool {
			return f.Part > expr.End
		})
		eachRead(prog.Node, func(f *expr.Field) {
			if f.Part != expr.Self {
				s.add(f)
			}
		}, func(of expr.Part, known bool) { s.all = s.all || !known || of != expr.Self })
	}
	return s
}

// add adds a field.
func (s *seen) add(f *expr.Field) {
	switch place := f.F.Place; {
	case place == event.InMember &&
		(f.F.Member == event.MemberComm || f.F.Member == event.MemberCommNoDigit):
		s.named = true
	case place == event.InMember && f.F.Operand() != nil && f.F.Operand().Constant():
	case place == event.InMember && f.F.Member.OfRegister():
		s.want[f.F.Own()] = true
	case place == event.InMember && f.F.Member == event.MemberCallchain:
	case place == event.InMember && !f.F.Member.OfEvent():
		s.possible = false
	case place != event.InMember && place != event.InSlot:
		s.want[f.F.Own()] = true
	}
}
