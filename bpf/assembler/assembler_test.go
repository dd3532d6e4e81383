package assembler_test

import (
	_ "embed"
	"encoding/binary"
	"flag"
	"math/bits"
	"os"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/record/ringbuf"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/bpftest"
)

var stats = load.StatsMap.Of(0)

// words is a program that changes words of the stack: in to out.
func words(t *testing.T, in, out int, body func(c *assembler.Code, in, out int16,
	fail assembler.Label)) *bpftest.Program {
	t.Helper()
	b := bpftest.Builder{In: 8 * in, Out: 8 * out}
	return b.OnStack(t, body)
}

var numbers = []int64{0, 1, -1, 127, 128, -128, 255, 256, 32767, 1 << 31, -(1 << 31), 1<<32 - 1, 1 << 32,
	-(1 << 62),
	1<<63 - 1, -1 << 63}

// A jump over constants of 64 bits, which are two words of a program, goes where its label is; code behind
// a jump that is always taken is not emitted, unless a label there is used.
func TestLabels(t *testing.T) {
	p := words(t, 1, 1, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		negative, end, unused := c.Label(), c.Label(), c.Label()
		c.Load(asm.R0, in)
		c.IfImm(asm.JSLT, asm.R0, 0, negative)
		c.IfImm(asm.JEq, asm.R0, 0, fail)
		c.Constant(asm.R1, 1<<40)
		c.Constant(asm.R1, 1<<41)
		c.Store(out, asm.R1)
		c.GoTo(end)
		c.Emit(asm.Mov.Reg(asm.R0, asm.R9)) // the verifier would refuse it
		c.Place(unused)
		c.Emit(asm.Mov.Reg(asm.R0, asm.R9))
		if !c.Dead() || c.Used(unused) {
			t.Error("code behind a jump: got alive, want dead")
		}
		c.Place(negative)
		if c.Dead() {
			t.Error("code that is jumped to: got dead")
		}
		c.Constant(asm.R1, -5)
		c.Store(out, asm.R1)
		c.Place(end)
	})
	for in, want := range map[int64]int64{7: 1 << 41, -7: -5} {
		if out, ok := p.Words(uint64(in)); !ok || int64(out[0]) != want {
			t.Errorf("%d: got %d, %t, want %d", in, int64(out[0]), ok, want)
		}
	}
	if _, ok := p.Words(0); ok {
		t.Error("0: got no failure")
	}
}

// A dry run emits nothing, and reports what a program would not have room for.
func TestDry(t *testing.T) {
	c := assembler.NewDry()
	end := c.Label()
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	c.GoTo(end)
	if !c.Dead() || c.Finish() != nil {
		t.Error("got a program, want none")
	}
	for size, refused := range map[int]bool{504: false, 512: false, 513: true} {
		if !refused {
			assembler.New().Alloc(size)
			continue
		}
		bpftest.Refused(t, "a large stack", func(c *assembler.Code) { c.Alloc(size) })
	}
	bpftest.Refused(t, "a long jump", func(c *assembler.Code) {
		end := c.Label()
		c.IfImm(asm.JEq, asm.R0, 0, end)
		for range 1 << 15 {
			c.Emit(asm.Mov.Imm(asm.R1, 0))
		}
		c.Place(end)
		c.Finish()
	})
}

// TestAlloc checks that stack that was given back is used again, and places are words.
func TestAlloc(t *testing.T) {
	c := assembler.New()
	a := c.Alloc(5)
	mark := c.Stack
	b := c.Alloc(16)
	c.Stack = mark
	if d := c.Alloc(8); a != -8 || b != -24 || d != -16 {
		t.Errorf("got %d, %d, %d, want -8, -24, -16", a, b, d)
	}
}

// TestSpilledPlaces checks that places of a program that spills lie in scratch memory if they are
// large; stores and loads find them there, and what is given back is used again.
func TestSpilledPlaces(t *testing.T) {
	b := bpftest.Builder{In: 8, Out: 40, Spills: true}
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, _ assembler.Label) {
		small, mark := c.Alloc(8), c.Stack
		a := c.Alloc(24)
		c.Stack = mark
		if again := c.Alloc(24); again != a {
			t.Errorf("a place that was given back: got %d, want %d", again, a)
		}
		other := c.Alloc(16)
		if c.Spills > 0 && (small >= 0 || a <= 0 || other != a+24) {
			t.Errorf("got places %d, %d, %d, want one of the stack and two behind each other", small, a, other)
		}
		c.Set(a, -2)
		c.Zero(other, 16)
		c.Load(asm.R1, in)
		c.StorePart(other+3, asm.R1, asm.Byte)
		c.Load(asm.R2, in)
		c.Store(a+16, asm.R2)
		for i, at := range []int16{a, other, other + 8, a + 16} {
			c.Load(asm.R0, at)
			c.Store(out+int16(8*i), asm.R0)
		}
		c.Addr(asm.R3, a+16)
		c.Emit(asm.LoadMem(asm.R0, asm.R3, 0, asm.DWord))
		c.Store(out+32, asm.R0)
	})
	out, ok := p.Words(0x1234)
	if want := []uint64{1<<64 - 2, 0x34000000, 0, 0x1234, 0x1234}; !ok || !slices.Equal(out, want) {
		t.Errorf("got %x, %t, want %x", out, ok, want)
	}
}

func TestRegisters(t *testing.T) {
	type made struct {
		what string
		emit func(c *assembler.Code)
		want func(v int64) int64
	}
	// Each leaves its result of R2 in R0.
	list := []made{
		{"log2", func(c *assembler.Code) { c.Log2(asm.R0, asm.R2) },
			func(v int64) int64 { return int64(bits.Len64(uint64(v))) }},
		{"magnitude", func(c *assembler.Code) {
			c.Absolute(asm.R2)
			c.Emit(asm.Mov.Reg(asm.R0, asm.R2))
		}, func(v int64) int64 { return max(v, -v) }},
		{"truth", func(c *assembler.Code) {
			yes, no, end := c.Label(), c.Label(), c.Label()
			c.IfTrue(asm.R2, false, no)
			c.IfTrue(asm.R2, true, yes)
			c.GoTo(end)
			c.Place(no)
			c.Emit(asm.Mov.Imm(asm.R0, 3))
			c.GoTo(end)
			c.Place(yes)
			c.Emit(asm.Mov.Imm(asm.R0, 4))
			c.Place(end)
		}, func(v int64) int64 {
			if v == 0 {
				return 3
			}
			return 4
		}},
	}
	extend := func(what string, size int, signed bool, want func(v int64) int64) {
		list = append(list, made{what, func(c *assembler.Code) {
			c.Extend(asm.R2, size, signed)
			c.Emit(asm.Mov.Reg(asm.R0, asm.R2))
		}, want})
	}
	extend("s8", 8, true, func(v int64) int64 { return int64(int8(v)) })
	extend("u8", 8, false, func(v int64) int64 { return int64(uint8(v)) })
	extend("s16", 16, true, func(v int64) int64 { return int64(int16(v)) })
	extend("u16", 16, false, func(v int64) int64 { return int64(uint16(v)) })
	extend("s32", 32, true, func(v int64) int64 { return int64(int32(v)) })
	extend("u32", 32, false, func(v int64) int64 { return int64(uint32(v)) })
	extend("s64", 64, true, func(v int64) int64 { return v })
	extend("u64", 64, false, func(v int64) int64 { return v })
	p := words(t, 1, len(list), func(c *assembler.Code, in, out int16, _ assembler.Label) {
		for i, m := range list {
			c.Emit(asm.Mov.Imm(asm.R0, 0))
			c.Load(asm.R2, in)
			m.emit(c)
			c.Store(out+int16(8*i), asm.R0)
		}
	})
	for _, v := range numbers {
		out, _ := p.Words(uint64(v))
		for i, m := range list {
			if got, want := int64(out[i]), m.want(v); got != want {
				t.Errorf("%s of %d: got %d, want %d", m.what, v, got, want)
			}
		}
	}
}

//go:embed testdata/turns.o
var turnsObject []byte

// turns is routines of these tests.
var turns = assembler.NewObject(turnsObject)

var update = flag.Bool("update", false, "compile testdata/turns.c anew (needs clang)")

func TestCompiled(t *testing.T) { testkit.Compiled(t, "testdata/turns", *update, nil) }

// Loops end, whatever the verifier knows of their bound: as the body says, or after so many turns.
func TestRepeat(t *testing.T) {
	b := bpftest.Builder{In: 8, Out: 8}
	b.Define(load.ControlMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, _ assembler.Label) {
		memory := c.Alloc(8)
		c.MapValue(asm.R1, load.ControlMap.Of(), 0)
		c.Store(memory, asm.R1)
		c.Load(asm.R0, in)
		c.Emit(asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
		c.Repeat(turns, "count_down", 1000, memory)
		c.MapValue(asm.R1, load.ControlMap.Of(), 0)
		c.Emit(asm.LoadMem(asm.R0, asm.R1, 0, asm.DWord))
		c.Store(out, asm.R0)
	})
	for from, left := range map[uint64]uint64{0: 0, 1: 0, 999: 0, 1000: 0, 1001: 1, 5000: 4000} {
		if out, ok := p.Words(from); !ok || out[0] != left {
			t.Errorf("%d turns: got %d left, want %d", from, out[0], left)
		}
	}
}

// A routine gets registers and returns one, calls another one, reads maps, and may be called more than once;
// as a program it gets numbers.
func TestRoutine(t *testing.T) {
	b := bpftest.Builder{In: 16, Out: 24}
	b.Define(load.ControlMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, _ assembler.Label) {
		call := func(x, y int16) {
			c.Load(asm.R1, x)
			c.Load(asm.R2, y)
			c.Routine(turns, "product")
		}
		call(in, in+8)
		c.Store(out, asm.R0)
		call(out, out)
		c.Store(out+8, asm.R0)
		c.Routine(turns, "read_control")
		c.Store(out+16, asm.R0)
	})
	if err := p.Map(load.ControlMap.Of()).Put(uint32(0), uint64(77)); err != nil {
		t.Fatal(err)
	}
	if out, ok := p.Words(6, 7); !ok || out[0] != 42 || out[1] != 42*42 || out[2] != 77 {
		t.Errorf("got %d, %t, want 42, 1764, 77", out, ok)
	}
	given, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL",
		Instructions: turns.Program("give", map[string]int64{"number": 1<<31 - 2})})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer given.Close()
	if got, err := given.Run(&ebpf.RunOptions{}); err != nil || got != 1<<31-2 {
		t.Errorf("a number that is given: got %d, %v, want %d", got, err, 1<<31-2)
	}
}

// The frames of a program and of the routines that it calls share the stack, whether a program is made or
// only asked for.
func TestStackOfRoutines(t *testing.T) {
	f := func(c *assembler.Code, stack int) {
		c.Alloc(stack)
		c.Routine(turns, "deep") // 200 bytes, and those of product, at least 32
		c.Finish()
	}
	f(assembler.New(), 256)
	f(assembler.NewDry(), 256)
	bpftest.Refused(t, "a large stack", func(c *assembler.Code) { f(c, 257) })
	bpftest.Refused(t, "a large stack, asked for", func(*assembler.Code) { f(assembler.NewDry(), 257) })
}

// TestElement checks that elements of lists count from the end if they are negative.
func TestElement(t *testing.T) {
	const size = 3
	p := words(t, 1+size, 1, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		memory := c.Alloc(8)
		list := c.Alloc(8 * size)
		for i := int16(0); i < size; i++ {
			c.Load(asm.R0, in+8+8*i)
			c.Store(list+8*i, asm.R0)
		}
		c.Addr(asm.R0, list)
		c.Store(memory, asm.R0)
		c.Load(asm.R0, in)
		assembler.Element(c, memory, size, fail)
		c.Emit(asm.LoadMem(asm.R0, asm.R1, 0, asm.DWord))
		c.Store(out, asm.R0)
	})
	for at, want := range map[int64]uint64{0: 10, 1: 11, 2: 12, -1: 12, -2: 11, -3: 10, 3: 0, -4: 0,
		1 << 40: 0} {
		out, ok := p.Words(uint64(at), 10, 11, 12)
		if ok != (want != 0) || out[0] != want {
			t.Errorf("element %d: got %d, %t, want %d", at, out[0], ok, want)
		}
	}
}

// A word that a CPU has keeps others away, and gives way once it is given back.
func TestLock(t *testing.T) {
	lock := load.LockMap.Of(0)
	b := bpftest.Builder{In: 16, Out: 8}
	b.Define(lock, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	// The input is the number of the CPU, and whether it keeps what it took.
	p := b.OnStack(t, func(c *assembler.Code, in, out int16, busy assembler.Label) {
		memory, keep := c.Alloc(8), c.Label()
		c.MapValue(asm.R1, lock, 0)
		c.Store(memory, asm.R1)
		c.Load(asm.R8, in)
		assembler.Lock(c, memory, asm.R8, 8, busy)
		c.Load(asm.R1, in+8)
		c.IfImm(asm.JNE, asm.R1, 0, keep)
		assembler.Unlock(c, memory, 8)
		c.Place(keep)
	})
	word := func() uint64 {
		value := make([]byte, 16)
		if err := p.Map(lock).Lookup(uint32(0), &value); err != nil {
			t.Fatal(err)
		}
		return binary.NativeEndian.Uint64(value[8:])
	}
	if _, ok := p.Words(3, 0); !ok || word() != 0 {
		t.Errorf("a free word: got %t, %d, want it taken and given back", ok, word())
	}
	if _, ok := p.Words(3, 1); !ok || word() != 4 {
		t.Errorf("a word that is kept: got %t, %d, want true, 4", ok, word())
	}
	for cpu := range uint64(5) {
		if _, ok := p.Words(cpu, 0); ok || word() != 4 {
			t.Errorf("CPU %d at a word that CPU 3 has: got %t, %d, want false, 4", cpu, ok, word())
		}
	}
}

// Where one event of some is sampled it is the last of them; a budget lets events through by chance.
func TestGates(t *testing.T) {
	stat := func(p *bpftest.Program, n int) uint64 {
		value := make([]byte, 8*load.Stats(0, 0))
		if err := p.Map(stats).Lookup(uint32(0), &value); err != nil {
			t.Fatal(err)
		}
		return binary.NativeEndian.Uint64(value[8*n:])
	}
	builder := func() *bpftest.Builder {
		b := &bpftest.Builder{In: 8, Out: 8}
		b.Define(stats, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(8 * load.Stats(0, 0)),
			MaxEntries: 1})
		b.Define(load.WeightMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8,
			MaxEntries: 1})
		state.AlarmMaps(b.Define)
		return b
	}
	p := builder().OnStack(t, func(c *assembler.Code, _, _ int16, others assembler.Label) {
		assembler.OneOf(c, 3, stats, others)
	})
	for i := 1; i <= 9; i++ {
		if _, ok := p.Words(); ok != (i%3 == 0) {
			t.Errorf("event %d of one in 3: got %t", i, ok)
		}
	}

	p = builder().OnStack(t, func(c *assembler.Code, _, out int16, fail assembler.Label) {
		exit, passed := c.Label(), c.Label()
		g := assembler.NewGate(c, false, stats, exit)
		c.Load(asm.R0, int16(g.Weight))
		c.Store(out, asm.R0)
		g.End(c)
		c.GoTo(passed)
		c.Place(exit)
		g.End(c)
		c.GoTo(fail)
		c.Place(passed)
	})
	const events = 1024
	hits := uint64(0)
	// The bell rings once, with the hit of the alarm, whether events count or not.
	bell, err := ringbuf.Map(p.Map(load.BellMap.Of()).FD(), os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bell.Unmap() }()
	const alarm = 3
	if err := p.Map(load.AlarmMap.Of()).Put(uint32(0), uint64(alarm)); err != nil {
		t.Fatal(err)
	}
	for ; hits < 2*alarm*load.Timed; hits++ {
		if rang, want := bell.Head() > 0, hits >= alarm*load.Timed; rang != want {
			t.Fatalf("after %d hits: the bell has rung: %t, want %t", hits, rang, want)
		}
		p.Words()
	}
	if got := bell.Head(); got != ringbuf.Header+8 {
		t.Errorf("got %d bytes of the bell, want one record of %d", got, ringbuf.Header+8)
	}
	for _, weight := range []uint64{0, 1, 4, 64} {
		if err := p.Map(load.WeightMap.Of()).Put(uint32(0), weight); err != nil {
			t.Fatal(err)
		}
		passed := uint64(0)
		for range events {
			if out, ok := p.Words(); ok {
				passed++
				if out[0] != weight {
					t.Fatalf("got the weight %d, want %d", out[0], weight)
				}
			}
		}
		hits += events
		// Of a chance of 1 in 4 or in 64 these are more than six standard deviations.
		want := map[uint64][2]uint64{0: {0, 0}, 1: {events, events}, 4: {160, 352}, 64: {1, 48}}[weight]
		if passed < want[0] || passed > want[1] {
			t.Errorf("weight %d: got %d of %d events, want %d to %d", weight, passed, events, want[0],
				want[1])
		}
		if got := stat(p, load.StatHits); got != hits {
			t.Errorf("got %d hits, want %d", got, hits)
		}
	}
	if timed, took := stat(p, load.StatTimed), stat(p, load.StatTime); timed != hits/load.Timed || took == 0 {
		t.Errorf("got the time of %d hits, %d ns, want %d", timed, took, hits/load.Timed)
	}
}

// TestTasks checks that threads and processes that are named count, and others do not.
func TestTasks(t *testing.T) {
	check := func(target *load.Target, in map[[2]uint32]bool) {
		t.Helper()
		b := bpftest.Builder{In: 8, Out: 8}
		if target.InSet() {
			b.Define(load.ControlMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16,
				MaxEntries: 1, Contents: []ebpf.MapKV{{Key: uint32(0), Value: []uint64{7, 0}}}})
			b.Define(load.ProcessesMap.Of(), &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 8,
				MaxEntries: 8, Contents: []ebpf.MapKV{{Key: uint32(9), Value: uint64(1)}}})
		}
		p := b.OnStack(t, func(c *assembler.Code, in, _ int16, exit assembler.Label) {
			c.Load(asm.R0, in)
			c.Tasks(target, exit)
		})
		for task, want := range in {
			if _, ok := p.Words(uint64(task[0])<<32 | uint64(task[1])); ok != want {
				t.Errorf("%+v: process %d, thread %d: got %t", target, task[0], task[1], ok)
			}
		}
	}
	check(&load.Target{PIDs: []int{7, 9}}, map[[2]uint32]bool{
		{7, 7}: true, {7, 8}: true, {9, 1}: true, {8, 7}: false, {1, 9}: false})
	check(&load.Target{TIDs: []int{7}}, map[[2]uint32]bool{{7, 7}: true, {1, 7}: true, {7, 8}: false})
	check(&load.Target{Workload: true, Follow: true}, map[[2]uint32]bool{
		{7, 7}: true, {7, 8}: true, {9, 3}: true, {8, 7}: false})
	check(&load.Target{Workload: true}, map[[2]uint32]bool{{7, 7}: true, {7, 8}: false, {9, 9}: false})
}
