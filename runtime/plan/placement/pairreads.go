package placement

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file finds the fields of pairs that operators in ppscript read. They are computed once
// for all streams of pairs: a join of many functions has a stream for each two of them.

// pairReads says which parts of pairs operators in ppscript read.
type pairReads struct {
	want map[*event.Field]bool // of either event
	// all says that every field is read, named that the thread's name is, context that
	// common_flags and the like are: by lines, or by name.
	all, named, context bool
	possible            bool // programs can send all this
	inside              bool // fields of events inside pairs of pairs may be read
}

// pairReads finds the parts of pairs that operators in ppscript read.
func (p *Placer) pairReads() *pairReads {
	reads := &p.Reads
	s := &pairReads{want: map[*event.Field]bool{}, all: !reads.Exact, named: p.Lines, possible: true,
		inside: !reads.Exact || slices.ContainsFunc(reads.Names, partOfPart)}
	s.context = s.all || s.named || slices.Contains(reads.Names, "irqs_disabled") ||
		slices.Contains(reads.Names, "tif_need_resched")
	for _, n := range p.Nodes {
		if n.Op != nil && n.Refusal != "" {
			s.all = s.all || n.Op.Starts || n.Op.Records
			s.context = s.context || n.Op.Records
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

// partOfPart reports the name of an event of a pair within a pair: "start.start".
func partOfPart(name string) bool { return strings.Contains(name, ".") }

// add adds a field.
func (s *pairReads) add(f *expr.Field) {
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
