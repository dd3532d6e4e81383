package perf

import (
	"slices"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// refuseSilent refuses breakpoints on machines where they open but never fire:
// a user would conclude from the missing events that the memory was not
// accessed. try tests that with a breakpoint in this process; if it cannot,
// breakpoints are not refused.
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

// refuseAlike refuses several events that count the same hits of a software event, since
// their samples cannot be distinguished: all have the id of the event to which the kernel
// delivered the hit first (since 6.3, perf_prepare_sample in kernel/events/core.c).
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
