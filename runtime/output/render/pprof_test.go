package render

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/pprof/profile"

	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// TestPprofOfSamples checks that sample types have the names that pprof's users know; addresses are
// those of the files, also of stacks whose processes are forgotten; mappings say which symbols they
// have.
func TestPprofOfSamples(t *testing.T) {
	text := result.Segment{Addr: 0x401000, Size: 0x2000, Offset: 0x1000}
	frame := func(addr uint64) *result.Frame {
		return &result.Frame{
			Symbol:   "f",
			DSO:      "/bin/a",
			BuildID:  "abcd",
			Addr:     addr,
			FileAddr: 0x401010,
			Segment:  text,
			File:     "/src/a.c",
			Line:     7,
		}
	}
	kernel := func(addr uint64, dso string) *result.Frame {
		return &result.Frame{Symbol: fmt.Sprintf("k%x", addr), DSO: dso, Addr: addr, Kernel: true}
	}
	s := &result.Stacks{
		Value:    "time",
		Unit:     unit.US,
		Periods:  true,
		KernelID: "cafe",
		Samples: []result.StackSample{
			{PID: 1, Count: 2, Value: 2_000_001, CallStack: result.StackOf(frame(0x7f0000001010))},
			{PID: 2, Count: 1, Value: 1_000_000, CallStack: result.StackOf(kernel(0xffffffff81001234, "[kernel.kallsyms]"), frame(0x7f1111111010))},
			{PID: -1, Count: 1, Value: 1_000_000, CallStack: result.StackOf(kernel(0xffffffff81005234, "[kernel.kallsyms]"), frame(0))},
		},
	}
	var b bytes.Buffer
	if err := pprof(&b, s); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	cpu := profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	got := fmt.Sprint(*p.SampleType[1], *p.PeriodType, p.Period, p.DefaultSampleType)
	if got != fmt.Sprint(cpu, cpu, 1_000_000, "cpu") {
		t.Errorf("got types and period %s, want cpu in ns, 1 ms", got)
	}
	if len(p.Location) != 3 || p.Location[0].Address != 0x401010 || p.Location[0].Line[0].Line != 7 {
		t.Errorf("got locations %v, want one of f and two of the kernel", p.Location)
	}
	if len(p.Mapping) != 2 {
		t.Fatalf("got mappings %v, want two", p.Mapping)
	}
	if m := p.Mapping[0]; m.Start != 0x401000 || m.Limit != 0x403000 || m.Offset != 0x1000 ||
		m.BuildID != "abcd" || !m.HasLineNumbers {
		t.Errorf("got %+v, want that of the file", m)
	}
	if m := p.Mapping[1]; m.Start != 0xffffffff81001000 || m.Limit != 0xffffffff81006000 ||
		m.BuildID != "cafe" || m.HasLineNumbers || !m.HasFunctions {
		t.Errorf("got %+v, want that of the kernel's addresses, without lines", m)
	}
}
