package session

import (
	"os"
	"runtime/debug"
	"strings"

	"ppscript/runtime/agg"
	"ppscript/runtime/unit"
)

// garbagePercent is the garbage that may lie beside the memory in use, in percent
// of it, while a live run goes on: half of Go's usual. Per-event code makes none,
// so the collector hardly has anything to do, and the memory is that of a machine
// which has other work. $GOGC goes before it.
const garbagePercent = 50

// lean keeps the memory of a live run small, until end is called. Recordings are
// read as fast as can be.
func lean(live bool) (end func()) {
	if !live || os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(garbagePercent)
	return func() { debug.SetGCPercent(before) }
}

// keepTo has the run keep to its memory until end is called, which says what gave way.
func keepTo(r *run) (end func()) {
	b := r.cfg.Options.Limits.budget
	missing, restore := b.Begin()
	if missing > 0 && r.cfg.Options.Limits.Memory > 0 {
		r.env.msgs.say("memory: %s are %s less than what this run needs to work: it will exceed them",
			unit.Size(b.Limit()), unit.Size(missing))
	}
	return func() {
		restore()
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
