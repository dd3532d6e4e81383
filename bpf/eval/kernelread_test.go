package eval

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/bpftest"
)

// The words that the programs of these tests have beside their input: the address of the input, which
// is one of the kernel, and the number of a CPU.
var (
	inputAt = numberField(0, true)
	cpuOf   = numberField(8, true)
)

// at is an address in the input, or a bad one.
func at(offset int64) expr.Node {
	if offset < 0 {
		return expr.NewInt(offset)
	}
	return &expr.Binary{Op: expr.OpAdd, T: inputAt.Type(), X: inputAt, Y: expr.NewInt(offset)}
}

// reader reads memory of the kernel. cpu leaves a number in R0.
func reader(c *assembler.Code, in int16, fail assembler.Label, cpu func()) *Eval {
	words := c.Alloc(16)
	c.Addr(asm.R0, in)
	c.Store(words, asm.R0)
	if cpu != nil {
		cpu()
	}
	c.Store(words+8, asm.R0)
	e := evaluator(c, words, fail, inputAt, cpuOf)
	e.Hook = &hook.Hook{Code: c, Host: &features.Host{}}
	return e
}

func TestNumbersOfTheKernel(t *testing.T) {
	f := func(n *expr.KernelInt, want uint64, ok bool) {
		t.Helper()
		b := bpftest.Builder{Spills: true, In: 16, Out: 8}
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
			reader(c, in, fail, nil).kernelNumber(n)
			c.Store(out, asm.R0)
		})
		got, read := p.Words(0xfedcba98_89abcdef, 0x80)
		if read != ok || got[0] != want {
			t.Errorf("%+v: got %#x, %t, want %#x, %t", n, got[0], read, want, ok)
		}
	}
	f(&expr.KernelInt{Addr: at(0), Size: 8}, 0xfedcba98_89abcdef, true)
	f(&expr.KernelInt{Addr: at(0), Size: 4}, 0x89abcdef, true)
	f(&expr.KernelInt{Addr: at(0), Size: 4, Signed: true}, 0xffffffff_89abcdef, true)
	f(&expr.KernelInt{Addr: at(6), Size: 2}, 0xfedc, true)
	f(&expr.KernelInt{Addr: at(3), Size: 2, Signed: true}, 0xffffffff_ffff9889, true)
	f(&expr.KernelInt{Addr: at(8), Size: 1, Signed: true}, 0xffffffff_ffffff80, true)
	f(&expr.KernelInt{Addr: at(8), Size: 1}, 0x80, true)
	f(&expr.KernelInt{Addr: at(-4096), Size: 8}, 0, false)
	bpftest.Refused(t, "a number of 3 bytes", func(c *assembler.Code) {
		reader(c, c.Alloc(8), c.Label(), nil).kernelNumber(&expr.KernelInt{Addr: at(0), Size: 3})
	})
}

// TestTextsOfTheKernel checks that texts end at their NUL, or are cut; then dots say so, if they
// are wanted.
func TestTextsOfTheKernel(t *testing.T) {
	f := func(text string, size int, cut bool, want string) {
		t.Helper()
		b := bpftest.Builder{Spills: true, In: 24, Out: 24}
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
			reader(c, in, fail, nil).kernelText(out, 16, &expr.KernelText{Addr: at(0), Size: size, Cut: cut})
		})
		out, ok := p.Run([]byte(text))
		if !ok || string(out) != string(bpftest.Text(want, 24)) {
			t.Errorf("%q, %d bytes, cut %t: got %q, %t, want %q", text, size, cut, out, ok, want)
		}
	}
	f("swapper/0", 15, false, "swapper/0")
	f("", 15, true, "")
	f("0123456789abcdef", 15, false, "0123456789abcde")
	f("0123456789abcdef", 15, true, "0123456789ab...")
	f("0123456789abcde", 15, true, "0123456789abcde")
	f("0123456789", 7, true, "0123...")
	b := bpftest.Builder{Spills: true, In: 8, Out: 16}
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		reader(c, in, fail, nil).kernelText(out, 16, &expr.KernelText{Addr: at(-4096), Size: 15})
	})
	if _, ok := p.Run(nil); ok {
		t.Error("a bad address: got a text, want a failure")
	}
}

// The running task is this one; and the variables of CPUs lie apart as a map's values do, those of the
// running one nowhere else.
func TestTaskAndCPUs(t *testing.T) {
	testkit.Requires(t, testkit.BTF, testkit.Programs)
	host, err := features.Find(kernel.Roots{}, false)
	testkit.Requires(t, testkit.Core("bpf", err))
	tgid, ok := host.Offset("task_struct", "tgid")
	if !ok {
		t.Fatal("the kernel's types have no tgid of a task")
	}
	// The CPU is the first word of the input.
	b := bpftest.Builder{Spills: true, In: 8, Out: 24}
	b.Define(load.PlaceMap.Of(), &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8,
		MaxEntries: 1})
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		r := reader(c, in, fail, nil)
		r.runningTask()
		c.Addr(asm.R1, out)
		c.Emit(asm.Mov.Imm(asm.R2, 4), asm.Mov.Reg(asm.R3, asm.R0), asm.Add.Imm(asm.R3, int32(tgid)))
		c.Call(asm.FnProbeReadKernel)
		for i, cpu := range []func(){
			func() { c.Call(asm.FnGetSmpProcessorId) },
			func() { c.Load(asm.R0, in) },
		} {
			r := reader(c, in, fail, cpu)
			r.Hook.Host = host
			r.cpuDistance(&expr.CPUDistance{CPU: cpuOf})
			c.Store(out+8+int16(8*i), asm.R0)
		}
	})
	out, ok := p.Words(0)
	if !ok || int(out[0]) != os.Getpid() || out[1] != 0 {
		t.Errorf("got process %d, the own CPU at %d, %t, want %d, 0", out[0], out[1], ok, os.Getpid())
	}
	for _, cpu := range []uint64{1 << 20, 1<<64 - 1} {
		if out, ok := p.Words(cpu); ok {
			t.Errorf("CPU %d: got %v, want a failure", cpu, out)
		}
	}
	bpftest.Refused(t, "a kernel without types", func(c *assembler.Code) {
		reader(c, c.Alloc(8), c.Label(), nil).cpuDistance(&expr.CPUDistance{CPU: cpuOf})
	})
}

// TestArgument checks that arguments of a tracepoint are words of the context, of which a number
// takes what its size says.
func TestArgument(t *testing.T) {
	for _, n := range []struct {
		expr.TraceArg
		want uint64
	}{
		{expr.TraceArg{Index: 0, Size: 8}, 0xfedcba98_89abcdef},
		{expr.TraceArg{Index: 2, Size: 4, Signed: true}, 0xffffffff_89abcdef},
		{expr.TraceArg{Index: 2, Size: 4}, 0x89abcdef},
		{expr.TraceArg{Index: 2, Size: 1, Signed: true}, 0xffffffff_ffffffef},
	} {
		b := bpftest.Builder{Spills: true, In: 8, Out: 8}
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
			r := reader(c, in, fail, nil)
			r.Hook.Raw = &hook.RawPoint{}
			r.traceArgument(&n.TraceArg)
			c.Store(out, asm.R0)
		})
		if out, ok := p.Context(0xfedcba98_89abcdef, 0, 0x7777_89abcdef); !ok || out[0] != n.want {
			t.Errorf("%+v: got %#x, %t, want %#x", n.TraceArg, out[0], ok, n.want)
		}
	}
	bpftest.Refused(t, "an argument of a record", func(c *assembler.Code) {
		reader(c, c.Alloc(8), c.Label(), nil).traceArgument(&expr.TraceArg{Size: 8})
	})
}
