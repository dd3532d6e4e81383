package flow

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// SubjectOf says what some keys all identify: a thread, a CPU (Nobody), or something else
// (Doer).
func SubjectOf(keys []*expr.Program) Whom {
	whom := Doer
	for i, p := range keys {
		w := Doer
		if p.Node != nil && p.Type.Numeric() {
			expr.Walk(p.Node, func(n expr.Node) bool {
				if f, ok := n.(*expr.Field); ok && w != Thread {
					w = of(f.F)
				}
				return true
			})
		}
		if w == Doer || i > 0 && w != whom {
			return Doer
		}
		whom = w
	}
	return whom
}

// of says, by a field's name, whether its number identifies a thread, a CPU or
// something else.
func of(f *event.Field) Whom {
	name := f.Name[strings.LastIndexByte(f.Name, '_')+1:]
	switch {
	case f.Place == event.InMember && f.Member == event.MemberCPU:
		return Nobody
	case name == "pid" || name == "tid":
		return Thread
	}
	return Doer
}

// ByThread reports that a key is the number of the running thread.
func ByThread(key *expr.Program) bool {
	f, ok := key.Node.(*expr.Field)
	if !ok || f.Part != expr.Self {
		return false
	}
	if f.F.Place == event.InMember {
		return f.F.Member == event.MemberTID
	}
	return f.F.Place == event.InRaw && f.F.Name == "common_pid"
}
