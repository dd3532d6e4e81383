package hook_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"ppscript/bpf/features"
	"ppscript/bpf/hook"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// tracepointsByArg lists the tracepoints whose fields are read by argument.
var tracepointsByArg = []string{
	"raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "irq:softirq_entry", "irq:softirq_exit",
	"irq:softirq_raise", "sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking",
	"sched:sched_wakeup_new", "sched:sched_process_exit", "irq:irq_handler_entry", "kmem:kmalloc",
	"kmem:kfree", "kmem:mm_page_alloc", "kmem:mm_page_free", "irq:irq_handler_exit",
	"irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit", "irq_vectors:reschedule_entry",
	"irq_vectors:reschedule_exit", "irq_vectors:call_function_entry", "irq_vectors:call_function_exit",
	"irq_vectors:call_function_single_entry", "irq_vectors:call_function_single_exit",
	"irq_vectors:irq_work_entry", "irq_vectors:irq_work_exit",
}

func TestOf(t *testing.T) {
	f := func(event, name string) {
		t.Helper()
		switch p := hook.RawPointOf(event); {
		case p == nil:
			if name != "" {
				t.Errorf("%s: got none, want %s", event, name)
			}
		case p.Name != name:
			t.Errorf("%s: got %s, want %q", event, p.Name, name)
		}
	}
	for _, event := range tracepointsByArg {
		if p := hook.RawPointOf(event); p == nil || len(p.Fields) == 0 {
			t.Errorf("%s: got no fields", event)
		}
	}
	f("sched:sched_switch", "sched_switch")
	f("raw_syscalls:sys_enter", "sys_enter")
	f("block:block_rq_issue", "block_rq_issue") // its fields are not known
	f("syscalls:sys_enter_openat", "")
	f("mysystem:event", "")
	f("no_colon", "")
	if p := hook.RawPointOf("block:block_rq_issue"); p.Fields != nil {
		t.Errorf("block_rq_issue: got fields %v, want none", p.Fields)
	}
}

// TestFieldsAreTheKernels checks that fields are read from the event's record, with their sizes and
// signs, and members are in the structures that this kernel has.
func TestFieldsAreTheKernels(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Tracefs, testkit.BTF)
	tfs, err := tracefs.Find()
	if err != nil {
		t.Fatal(err)
	}
	host, err := features.Find(kernel.Roots{}, false)
	testkit.Requires(t, testkit.Core("bpf", err))
	for _, event := range tracepointsByArg {
		system, name, _ := strings.Cut(event, ":")
		schema, err := tfs.Schema(system, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for field, f := range hook.RawPointOf(event).Fields {
			of, ok := schema.Field(field)
			if !ok {
				// Such as bytes_req of kfree, which has another event's fields.
				continue
			}
			sign := of.Size != f.Size || f.Size == 8 || of.Signed == f.Signed
			if !f.Text && (of.Size < f.Size || !sign) {
				t.Errorf("%s %s: got %d bytes, signed %t, the record has %d, %t", event, field, f.Size,
					f.Signed,
					of.Size, of.Signed)
			}
			for _, member := range append([]string{f.Member}, f.Words...) {
				if _, ok := host.Offset(f.Type, member); f.Deref && !ok {
					t.Errorf("%s %s: this kernel's %s has no %s", event, field, f.Type, member)
				}
			}
		}
	}
}
