package findings

import (
	"testing"

	"ppscript/runtime/system/kernel"
)

// What does not work comes first, and what one remedy mends stands together.
func TestChecksAreSortedByNeed(t *testing.T) {
	checks := []kernel.Check{
		{Name: "kernel", Status: kernel.OK},
		{Name: "kprobes", Status: kernel.Warn, Fix: "another kernel"},
		{Name: "tracepoints", Status: kernel.Fail, Fix: "setcap"},
		{Name: "lockdown", Status: kernel.Unknown, Fix: "mount"},
		{Name: "fentry", Status: kernel.Warn, Fix: "setcap"},
		{Name: "rings", Status: kernel.OK},
	}
	byNeed(checks)
	got := ""
	for _, c := range checks {
		got += c.Name + " "
	}
	if want := "tracepoints fentry lockdown kprobes kernel rings "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
