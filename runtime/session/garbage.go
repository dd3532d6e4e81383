package session

import (
	"strings"

	"ppscript/runtime/operator/agg"
	"ppscript/runtime/text/unit"
)

// keepTo makes the run keep to its memory until end is called, which tells the user
// what was dropped.
func keepTo(r *run) (end func()) {
	b := r.cfg.Options.Limits.budget
	missing, restore := b.Begin()
	if missing > 0 && r.cfg.Options.Limits.Memory > 0 {
		r.env.msgs.say("memory: %s are %s less than what this run needs to work: it will exceed them",
			unit.Size(b.Limit()), unit.Size(missing))
	}
	return func() {
		restore()
		if text := b.Shed(); text != "" {
			r.env.msgs.say("%s", text)
		}
		gave := b.Refused()
		evicted := r.account.total.Evicted
		fewer := b.Short() && evicted > 0 && r.cfg.Options.Limits.Rows == 0
		if len(gave) == 0 && !fewer {
			return
		}
		by := ""
		if len(gave) > 0 {
			by = " by " + strings.Join(gave, ", ")
		}
		r.env.msgs.say("memory: %s reached%s: %d events and states found no room: they are in rows of %s, "+
			"or evicted", unit.Size(b.Limit()), by, evicted, agg.OtherKey)
	}
}
