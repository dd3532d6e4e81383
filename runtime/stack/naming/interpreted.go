package naming

import (
	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/target/task"
)

// interpreted passes records about processes to the Walker of interpreters, before their first
// stack comes.
func (n *Namer) interpreted(e *event.Event) {
	if n.opt.Interpreters == nil {
		return
	}
	switch e.Kind {
	case event.Mmap:
		if m, ok := perf.DecodeMmap(e); ok && !m.Kernel && !m.Data {
			n.opt.Interpreters.Mapped(m.PID, m.Name,
				func() *task.Space { return n.maps.Space(m.PID, e.Time) })
		}
	case event.Fork:
		if f, ok := perf.DecodeFork(e); ok && f.PID != f.PPID {
			n.opt.Interpreters.Forked(f.PPID, func() *task.Space { return n.maps.Space(f.PID, e.Time) })
		}
	case event.Comm:
		if c, ok := perf.DecodeComm(e); ok && c.Exec {
			n.opt.Interpreters.Forget(c.PID)
		}
	case event.Exit:
		if x, ok := perf.DecodeExit(e); ok && x.PID == x.TID {
			n.opt.Interpreters.Ended(x.PID)
		}
	}
}
