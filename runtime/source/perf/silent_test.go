package perf

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// TestSilentBreakpointsAreRefused checks that breakpoints are refused if a breakpoint in this
// process opens and does not fire; but not if that is unknown, and not if only optional events
// are breakpoints.
func TestSilentBreakpointsAreRefused(t *testing.T) {
	breakpoint := func(optional bool) member {
		return member{
			0, &EventConfig{Label: "breakpoint:total", Optional: optional},
			unix.PerfEventAttr{Type: unix.PERF_TYPE_BREAKPOINT},
		}
	}
	tracepoint := member{1, &EventConfig{Label: "t"}, unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT}}
	silent := kernel.Trial{Hits: 8, Least: 8}
	f := func(trial kernel.Trial, tries int, refused bool, ms ...member) {
		t.Helper()
		tried := 0
		err := refuseSilent(ms, func() kernel.Trial { tried++; return trial })
		if tried != tries || (err != nil) != refused {
			t.Errorf("%+v of %d events: got %v after %d tries, want refused %v after %d", trial, len(ms), err,
				tried, refused, tries)
		}
		if err == nil {
			return
		}
		for _, want := range []string{
			"breakpoint:total", "open, but do not fire here", "hides the debug registers", "0 of 8",
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %q, want %q in it", err, want)
			}
		}
		if diag.ClassOf(err) != diag.Attach || !strings.Contains(diag.HintOf(err), "uprobe") {
			t.Errorf("got class %v, hint %q", diag.ClassOf(err), diag.HintOf(err))
		}
	}
	f(silent, 1, true, tracepoint, breakpoint(false))
	f(silent, 0, false, tracepoint)
	f(silent, 0, false, breakpoint(true))
	f(kernel.Trial{Err: errors.New("no")}, 1, false, breakpoint(false))
	f(kernel.Trial{Hits: 8, Least: 8, Delivered: 8}, 1, false, breakpoint(false))
}

// TestAlikeEventsAreRefused checks that events that count the same hits of the kernel's software
// are refused if their samples cannot be distinguished; samples of clocks can.
func TestAlikeEventsAreRefused(t *testing.T) {
	f := func(minor int, refused bool, ids ...uint64) {
		t.Helper()
		var ms []member
		for i, id := range ids {
			ms = append(ms, member{
				i, &EventConfig{Schema: &event.Schema{Type: unix.PERF_TYPE_SOFTWARE, ID: id}},
				unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: id},
			})
		}
		if err := refuseAlike(ms, kernel.Version{Major: 6, Minor: minor}); (err != nil) != refused {
			t.Errorf("%v: got %v, want an error %v", ids, err, refused)
		}
	}
	f(2, false, unix.PERF_COUNT_SW_PAGE_FAULTS, unix.PERF_COUNT_SW_PAGE_FAULTS)
	f(3, true, unix.PERF_COUNT_SW_PAGE_FAULTS, unix.PERF_COUNT_SW_PAGE_FAULTS)
	f(3, false, unix.PERF_COUNT_SW_PAGE_FAULTS, unix.PERF_COUNT_SW_PAGE_FAULTS_MIN)
	f(3, false, unix.PERF_COUNT_SW_CPU_CLOCK, unix.PERF_COUNT_SW_CPU_CLOCK)
}
