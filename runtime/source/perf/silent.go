package perf

import (
	"slices"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// refuseSilent refuses breakpoints on machines where they open and never fire:
// "no events came" would be taken for "nothing was written". try finds out, by
// a breakpoint of our own; where it cannot, nothing is refused.
func refuseSilent(ms []member, try func() kernel.Trial) error {
	i := slices.IndexFunc(ms, func(m member) bool {
		return m.attr.Type == unix.PERF_TYPE_BREAKPOINT && !m.ev.Optional
	})
	if i < 0 {
		return nil
	}
	t := try()
	if !t.Silent() {
		return nil
	}
	return diag.Errorf(diag.Attach, "open event", ms[i].ev.name(),
		"breakpoints %s (of a word of our own, %d of %d writes were told)",
		kernel.SilentBreakpoints, t.Delivered, t.Hits).
		WithHint("%s; see: ppscript doctor", kernel.SilentBreakpointsFix)
}

// refuseAlike refuses several events that count the same hit of the kernel's software, since
// it tells their samples apart no more: all have the id of the one that the hit came to first
// (6.3, perf_prepare_sample in kernel/events/core.c).
func refuseAlike(ms []member, v kernel.Version) error {
	if !v.AtLeast(6, 3) {
		return nil
	}
	first := map[uint64]bool{}
	for i := range ms {
		a, ev := &ms[i].attr, ms[i].ev
		if a.Type != unix.PERF_TYPE_SOFTWARE || ms[i].index < 0 || !counts(ev.Schema) {
			continue
		}
		if first[a.Config] {
			return diag.Errorf(diag.Attach, "open event", ev.name(),
				"it is there twice, and Linux 6.3 and later do not say whose a sample is").
				WithHint("let both read one event: e = software(...), then e.by(...) and e.where(...)")
		}
		first[a.Config] = true
	}
	return nil
}
