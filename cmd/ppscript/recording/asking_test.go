package recording

import (
	"strings"
	"testing"
)

// --when takes an event, the options of trace, or a script.
func TestTrigger(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		got, err := Trigger(text)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: got %q (%v), want %q", text, got, err, want)
		}
	}
	f("syscalls --than 10ms", "syscalls|--than|10ms")
	f("oom:mark_victim", "trace|-e|oom:mark_victim")
	f(` signal:signal_generate/sig == 11 && comm == "a b"/ `, `trace|-e|signal:signal_generate/sig == 11 && comm == "a b"/`)
	f("kprobe:oom_kill_process", "trace|-e|kprobe:oom_kill_process")
	f("-e page-faults --filter 'addr == 0'", "trace|-e|page-faults|--filter|addr == 0")
	f("dir/mine.star -e sched:sched_switch", "dir/mine.star|-e|sched:sched_switch")
	f("multi-trace -e a:b", "multi-trace|-e|a:b")
	f(`-c 'tracepoint("a:b").log()'`, `-c|tracepoint("a:b").log()`)
	for _, bad := range []string{"", " ", "'a"} {
		if list, err := Trigger(bad); err == nil {
			t.Errorf("%q: got %q, want an error", bad, list)
		}
	}
}
