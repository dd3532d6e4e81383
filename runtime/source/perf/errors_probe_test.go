package perf

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

func TestProbeErrors(t *testing.T) {
	f := func(text string, errno unix.Errno, want string) {
		t.Helper()
		m := &member{ev: &EventConfig{Schema: &event.Schema{}, EventAttr: EventAttr{Config1Text: text}}}
		err := explainProbe(m, &diag.Error{Op: "open event", Subject: "x", Cause: errno})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s, %v: got %v, want it left to others", text, errno, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || diag.HintOf(err) == ""):
			t.Errorf("%s, %v: got %v, want %q and a hint", text, errno, err, want)
		}
	}
	f("do_int3", unix.EINVAL, "probes themselves need")
	f("nosuch", unix.ENOENT, "no such function")
	f("twice", unix.EADDRNOTAVAIL, "several functions")
	f("f", unix.EILSEQ, "no instruction starts there")
	f("/bin/x", unix.ENOENT, "gone")
	f("/bin/x", unix.EINVAL, "cannot probe this instruction")
	f("/bin/x", 524, "cannot probe this instruction")
	f("/bin/x", unix.EACCES, "")
	f("", unix.EINVAL, "")
}

// TestRegisterFacts checks that registers are found by their numbers, whichever of them were
// sampled.
func TestRegisterFacts(t *testing.T) {
	l := NewLayout(Format{
		SampleType: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_REGS_INTR, RegsIntr: 1<<0 | 1<<5 | 1<<23,
	})
	rec := make([]byte, 8+8+8+24)
	rec[0], rec[6] = unix.PERF_RECORD_SAMPLE, byte(len(rec))
	rec[16] = unix.PERF_SAMPLE_REGS_ABI_64
	rec[24], rec[32], rec[40] = 10, 15, 33
	e := &event.Event{Rec: rec}
	f := func(reg event.Member, want uint64, ok bool) {
		t.Helper()
		if got, has := l.Member(e, event.MemberReg+reg); got != want || has != ok {
			t.Errorf("register %d: got %d %v, want %d %v", reg, got, has, want, ok)
		}
	}
	f(0, 10, true)
	f(5, 15, true)
	f(23, 33, true)
	f(4, 0, false)
	f(63, 0, false)
	if n := testing.AllocsPerRun(100, func() { l.Member(e, event.MemberReg+5) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
	rec[16] = unix.PERF_SAMPLE_REGS_ABI_NONE
	f(5, 0, false) // a kernel thread: no registers follow
}
