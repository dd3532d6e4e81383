package cexpr

import (
	"testing"

	"ppscript/runtime/event"
)

// The kernel's language of filters, whether or not it is ours.
func TestKernelTakes(t *testing.T) {
	s := &event.Schema{System: "sched", Name: "switch", Fields: []event.Field{
		{Name: "pid", Type: "pid_t", Kind: event.Int, Size: 4, Signed: true},
		{Name: "comm", Type: "char[16]", Kind: event.Str, Size: 16},
		{Name: "name", Type: "const char *", Kind: event.Int, Size: 8},
		{Name: "mask", Type: "cpumask_t", Kind: event.Bitmask, Place: event.DataLoc, Size: 4},
	}}
	f := func(want bool, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if got := KernelTakes(text, s); got != want {
				t.Errorf("%s: got %v, want %v", text, got, want)
			}
		}
	}
	f(true, "pid == 5", "pid==-1", "pid & 0x10 && !(comm == 'a b' || comm ~ \"x*\")", "CPU == 1",
		"COMM ~ 'ba*'", "mask & CPUS{0-3,5}", "CPU & CPUS{1}", "name.ustring ~ \"/etc/*\"",
		"name.function == vfs_read", " pid<3||pid >= 010 ", "comm != \"\"", "!pid == 3")
	f(false, "", "pid", "pid ~ 5", "pid ~ '5'", "pid @ 5", "pid = 5", "pid == '5'", "pid == x", "5 == pid",
		"nosuch == 5", "comm == 5", "comm < 'a'", "comm == \"a", "pid == 5 &&", "(pid == 5", "pid == 5)",
		"CPUS{0-1}", "mask & CPUS{0", "pid == 5 pid == 6", "pid + 1 == 5", "pid == 1_0")
}
