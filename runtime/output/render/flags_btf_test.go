package render

import (
	"testing"

	"github.com/cilium/ebpf/btf"

	"ppscript/tests/testkit"
)

// The bits have the running kernel's meanings. Older kernels have other meanings
// for a few of them and then lack the name.
func TestFlagsMatchKernel(t *testing.T) {
	testkit.Requires(t, testkit.BTF)
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}
	var flags *btf.Enum
	if err := spec.TypeByName("trace_flag_type", &flags); err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{
		"TRACE_FLAG_IRQS_OFF":          irqsOff,
		"TRACE_FLAG_NEED_RESCHED_LAZY": needReschedLazy,
		"TRACE_FLAG_NEED_RESCHED":      needResched,
		"TRACE_FLAG_HARDIRQ":           hardIRQ,
		"TRACE_FLAG_SOFTIRQ":           softIRQ,
		"TRACE_FLAG_PREEMPT_RESCHED":   preemptSched,
		"TRACE_FLAG_NMI":               inNMI,
		"TRACE_FLAG_BH_OFF":            bhOff,
	}
	found := 0
	for _, v := range flags.Values {
		if bit, ok := want[v.Name]; ok {
			found++
			if v.Value != bit {
				t.Errorf("%s: got %#x, want the kernel's %#x", v.Name, bit, v.Value)
			}
		}
	}
	if found < 5 {
		t.Errorf("got %d of the flags in the kernel's BTF, want at least 5", found)
	}
}
