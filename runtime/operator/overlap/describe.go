package overlap

import (
	"cmp"
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
)

// KnowsKey reports that a span's key is known at its begin.
func KnowsKey(key *flow.Fn) bool {
	ok := true
	key.Each(func(p *expr.Program) {
		if p.Node == nil {
			ok = false
			return
		}
		for _, f := range p.Uses.Fields {
			ok = ok && !f.Ends() && f.F.Place != event.InSlot && f.F.Member != event.MemberDelay
		}
	})
	return ok
}

// Describe says in a message which spans are split by which. names has the names of both
// kinds of spans, keys the texts of their keys.
func (s *Spec) Describe(keys [2]string, names [2][]string) string {
	by := keys[0]
	if keys[1] != by {
		by += " = " + keys[1]
	}
	return fmt.Sprintf("by %s: %s split by %s; the innermost counts; at most %d spans are kept", by,
		strings.Join(names[0], ", "), strings.Join(names[1], ", "), cmp.Or(s.Limit, DefaultLimit))
}
