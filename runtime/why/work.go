package why

import (
	"strconv"

	"ppscript/runtime/event"
)

// This file finds the work of kernel threads: the function that a worker of a work queue runs. It
// only adds a detail to a cause; if the begin of the work was not observed, it is left out.

// workName returns the name of the work that a record began, "work wb_workfn"; "" if unknown.
func (x *Explainer) workName(rec int32) string {
	if rec < 0 || x.recs[rec].kind != kWork {
		return ""
	}
	if n := x.recs[rec].name; n != 0 {
		return x.names.texts[n]
	}
	addr := x.recs[rec].a
	n, known := x.names.works[addr]
	if !known {
		name := ""
		if x.cfg.Function != nil {
			name = x.cfg.Function(addr)
		}
		if name == "" {
			name = "0x" + strconv.FormatUint(addr, 16)
		}
		if len(x.names.works) >= maxDisks {
			clear(x.names.works)
		}
		n = x.names.of("work " + name)
		x.names.works[addr] = n
	}
	return x.names.texts[n]
}

// workIn returns the name of a thread's work in [from, to), while it has its CPU; "" if it is
// unknown or not a single work.
func workIn(x *Explainer, t *thread, from, to event.Time) (name string) {
	i := t.firstAfter(from)
	if b := t.before(i); b >= 0 {
		name = x.workName(t.list[b].now.work)
	}
	for ; i < len(t.list) && t.list[i].at < to; i++ {
		e := &t.list[i]
		if e.other || x.recs[e.rec].kind != kWork {
			continue
		}
		switch next := x.workName(e.rec); name {
		case "", next:
			name = next
		default:
			return ""
		}
	}
	return name
}
