package tracefs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

// fixture is a directory with tracefs's layout and a few events.
func fixture(t *testing.T) *FS {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{
		"sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking", "irq:softirq_entry",
		"irq_vectors:reschedule_entry", "syscalls:sys_enter_open", "syscalls:sys_enter_read", "syscalls:sys_exit_read",
		"ftrace:irq_print",
	} {
		sys, ev, _ := strings.Cut(name, ":")
		path := filepath.Join(dir, "events", sys, ev)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(sample, "name: sample", "name: "+ev, 1)
		if err := os.WriteFile(filepath.Join(path, "format"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		// Files beside the directories are no events.
		if err := os.WriteFile(filepath.Join(dir, "events", sys, "enable"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &FS{root: dir, Options: new(Options), schemas: map[string]*event.Schema{}}
}

func TestMatch(t *testing.T) {
	fs := fixture(t)
	f := func(pattern string, want ...string) {
		t.Helper()
		got, err := fs.Match(pattern)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v, want %v", pattern, got, err, want)
		}
	}
	f("sched:*", "sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking")
	f("*:sys_enter_*", "syscalls:sys_enter_open", "syscalls:sys_enter_read")
	f("sched:sched_wak?up", "sched:sched_wakeup")
	f("sched:sched_wak[a-f]*", "sched:sched_wakeup")
	f("sched:sched_wak[ei]*", "sched:sched_wakeup", "sched:sched_waking")
	f("sched:sched_wak[^e]*", "sched:sched_waking")
	f("sched:sched_wak[!e]*", "sched:sched_waking")
	f("irq*:*_entry", "irq:softirq_entry", "irq_vectors:reschedule_entry")
	f("irq:softirq_entry", "irq:softirq_entry")
	// The records of the kernel's tracers are no tracepoints, but they can be named.
	f("*:*irq_*", "irq:softirq_entry")
	f("ftrace:*", "ftrace:irq_print")
	if all, err := fs.Events(); err != nil || len(all) != 9 {
		t.Errorf("Events: got %d, %v, want 9", len(all), err)
	}
}

func TestUnknownEventSuggestsTheNearest(t *testing.T) {
	fs := fixture(t)
	f := func(sys, name, want string) {
		t.Helper()
		_, err := fs.Schema(sys, name)
		var d *diag.Error
		if !errors.As(err, &d) || d.Class != diag.Attach || d.Hint == "" {
			t.Errorf("%s:%s: got %#v, want a diag.Error of class Attach with a hint", sys, name, err)
			return
		}
		if err.Error() != want {
			t.Errorf("%s:%s:\n got %s\nwant %s", sys, name, err, want)
		}
	}
	f("sched", "sched_swich", "open tracepoint sched:sched_swich: no such event (did you mean sched:sched_switch?)")
	f("shed", "sched_switch", "open tracepoint shed:sched_switch: no event system shed (did you mean sched:sched_switch?)")
	f("sched", "softirq_entry", "open tracepoint sched:softirq_entry: no such event (did you mean irq:softirq_entry?)")
	f("zzzzzzz", "sched_switch", "open tracepoint zzzzzzz:sched_switch: no event system zzzzzzz (did you mean sched:sched_switch?)")
	f("qqqqqqq", "zzzzzzz", "open tracepoint qqqqqqq:zzzzzzz: no event system qqqqqqq")
	f("..", "x", "open tracepoint ..:x: no event system ..")
	_, err := fs.Match("sched_switch")
	if err == nil || diag.ClassOf(err) != diag.Usage ||
		!strings.Contains(err.Error(), "did you mean sched:sched_switch?") {
		t.Errorf("Match without a system: got %v", err)
	}
	if _, err := fs.Match("sched:zz*"); diag.ClassOf(err) != diag.Attach {
		t.Errorf("Match of nothing: got %v, want an error of class Attach", err)
	}
}

func TestSchemaIsReadOnce(t *testing.T) {
	fs := fixture(t)
	a, err := fs.Schema("sched", "sched_switch")
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := fs.Schema("sched", "sched_switch"); a != b {
		t.Error("second call: got another schema")
	}
}

func TestMountTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mounts")
	table := "proc /proc proc rw 0 0\nt /mnt/my\\040trace tracefs rw 0 0\nd /sys/kernel/debug debugfs rw 0 0\n"
	if err := os.WriteFile(path, []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	want := []string{"/mnt/my trace", "/sys/kernel/debug/tracing"}
	if got := mounted(path); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
