package walk

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/stack/unwind"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/bpftest"
)

// This file walks stacks that it wrote: memory of this process, whose return addresses lie in code that
// only the maps of the program know.

// Code of the tests: a file of two blocks, mapped at code. Each function has a rule, and lies at the place
// of its number times funcSize.
const (
	code     = 0x1000_0000_0000
	funcSize = 0x100
	frames   = 16
	words    = 8 // where addresses are written
	stateAt  = words + 8*frames
)

// Places in the state of a walk: struct walk of walk.c.
const (
	sp = 8 * iota
	bp
	bx
	pc
	called
	n
	limit
	rangesAt // the first, then how many
	stop
	by
	others
)

// A stack is memory of this process, of which the second half cannot be read.
type stack struct {
	t    *testing.T
	mem  []byte
	base uint64
}

func newStack(t *testing.T) *stack {
	t.Helper()
	// Nobody moves what the kernel gave.
	mem, err := unix.Mmap(-1, 0, 1<<14, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		err = unix.Mprotect(mem[1<<13:], unix.PROT_NONE)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	return &stack{t, mem, uint64(uintptr(unsafe.Pointer(&mem[0])))}
}

// at is the address of a word, put writes it.
func (s *stack) at(word int) uint64 { return s.base + uint64(8*word) }
func (s *stack) put(word int, v uint64) {
	binary.NativeEndian.PutUint64(s.mem[8*word:], v)
}

// A walkResult is the result of a walk.
type walkResult struct {
	addresses []uint64
	stop      load.WalkStop
	pointers  uint64
	sp, bp    uint64
	bx        uint64
}

// function is an address in function i.
func function(i int) uint64 { return code + uint64(i*funcSize) + 0x40 }

// walker loads a program that walks from the state which is its input, by rules: that of function i is
// rule i.
func walker(t *testing.T, rules []unwind.Rule) func(state map[int]uint64) walkResult {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		testkit.Requires(t, testkit.Optional("registers of amd64", unix.ENOTSUP))
	}
	b := bpftest.Builder{In: stateAt + stateSize, Out: stateAt + stateSize}
	frameMaps(func(id load.MapID, m *ebpf.MapSpec) { b.Define(id, m) })
	p := b.Build(t, func(c *assembler.Code, _ assembler.Label) {
		c.MapValue(asm.R7, bpftest.Input, 0)
		turns(c, stateAt, words, frames, frames+1)
		c.MapValue(asm.R1, bpftest.Input, 0)
		c.MapValue(asm.R2, bpftest.Output, 0)
		for i := int16(0); i < stateAt+stateSize; i += 8 {
			c.Emit(asm.LoadMem(asm.R0, asm.R1, i, asm.DWord), asm.StoreMem(asm.R2, i, asm.R0, asm.DWord))
		}
	})
	put := func(kind load.MapKind, key uint32, value []byte) {
		t.Helper()
		if err := p.Map(kind.Of()).Put(key, value); err != nil {
			t.Fatal(err)
		}
	}
	// The range has two blocks: all rows are in the first, and the second has none.
	var r []byte
	r = binary.NativeEndian.AppendUint64(r, code)
	r = binary.NativeEndian.AppendUint64(r, 0x2000)
	r = binary.NativeEndian.AppendUint64(r, code)
	r = binary.NativeEndian.AppendUint32(r, 7)
	r = binary.NativeEndian.AppendUint32(r, 2)
	put(load.WalkRangesMap, 3, r)
	other := slices.Clone(r)
	binary.NativeEndian.PutUint64(other, 1<<20)
	binary.NativeEndian.PutUint64(other[8:], 0x1000)
	put(load.WalkRangesMap, 2, other)
	put(load.WalkBlocksMap, 7,
		bpftest.Bytes(1|5<<load.WalkFirstShift|uint64(len(rules))<<load.WalkCountShift))
	page := make([]byte, load.WalkPageSize)
	for i, rule := range rules {
		binary.NativeEndian.PutUint32(page[4*(5+i):], uint32(i*funcSize|(i+1)<<unwind.BlockBits))
		value := make([]byte, load.WalkRuleSize)
		copy(value, unsafe.Slice((*byte)(unsafe.Pointer(&rule)), unsafe.Sizeof(rule)))
		put(load.WalkRulesMap, uint32(i+1), value)
	}
	chunk, err := ebpf.NewMap(load.WalkChunk())
	if err == nil {
		t.Cleanup(func() { chunk.Close() })
		err = chunk.Put(uint32(1), page)
	}
	if err == nil {
		err = p.Map(load.WalkPagesMap.Of()).Put(uint32(0), chunk)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(state map[int]uint64) (found walkResult) {
		in := make([]byte, stateAt+stateSize)
		put := func(at int, v uint64) { binary.NativeEndian.PutUint64(in[stateAt+at:], v) }
		put(limit, 8*frames)
		put(rangesAt, 2|2<<32)
		put(stop, uint64(load.WalkDeep))
		put(others, 1)
		for at, v := range state {
			put(at, v)
		}
		out, ok := p.Run(in)
		if !ok {
			t.Fatal("the program failed")
		}
		get := func(at int) uint64 { return binary.NativeEndian.Uint64(out[at:]) }
		for i := uint64(0); i < get(stateAt+n); i += 8 {
			found.addresses = append(found.addresses, get(words+int(i)))
		}
		found.stop, found.pointers = load.WalkStop(get(stateAt+stop)), get(stateAt+by)
		found.sp, found.bp, found.bx = get(stateAt+sp), get(stateAt+bp), get(stateAt+bx)
		return found
	}
}

// check walks from a state of the registers, and compares.
func check(t *testing.T, walk func(map[int]uint64) walkResult, what string, state map[int]uint64,
	stop load.WalkStop,
	want ...uint64) walkResult {
	t.Helper()
	got := walk(state)
	if got.stop != stop || !slices.Equal(got.addresses, want) {
		t.Errorf("%s: got %#x, stopped by %d, want %#x, %d", what, got.addresses, got.stop, want, stop)
	}
	return got
}

// Callers are where rules say, by each register that a frame may be found by, and what functions saved is
// what their callers have.
func TestRules(t *testing.T) {
	const (
		bySP = iota
		byBP
		outermost
		byMemory
		byPLT
		byStub
		signal
		byR12
		complex
		unknown
		bySwitch
		downwards
	)
	saved := func(r unwind.Rule) unwind.Rule {
		r.BP, r.BPOff = unwind.AtCFA, -16
		return r
	}
	walk := walker(t, []unwind.Rule{
		bySP:      saved(unwind.Rule{Kind: unwind.ByRegister, Reg: unwind.RegSP, Off: 24}),
		byBP:      saved(unwind.Rule{Kind: unwind.ByRegister, Reg: unwind.RegBP, Off: 16}),
		outermost: {Kind: unwind.IsEnd},
		byMemory:  {Kind: unwind.ByMemory, Reg: unwind.RegBP, Off: -8, Add: 8},
		byPLT:     {Kind: unwind.ByPLT, Add: 11},
		byStub:    {Kind: unwind.ByStub, Reg: unwind.RegSP, Off: 8},
		signal:    {Kind: unwind.BySignal},
		byR12:     {Kind: unwind.ByRegister, Reg: 12, Off: 16, BX: unwind.AtBP, BXOff: -24},
		complex:   {Kind: unwind.IsComplex},
		unknown:   {Kind: unwind.ByRegister, Reg: 1, Off: 16},
		bySwitch:  {Kind: unwind.BySwitch},
		downwards: {Kind: unwind.ByRegister, Reg: unwind.RegSP, Off: 0},
	})
	s := newStack(t)
	end := function(outermost)
	// A frame of 24 bytes at word 100, whose caller has its own at word 120.
	s.put(101, s.at(120))
	s.put(102, function(byBP))
	s.put(120, 0xb0b0)
	s.put(121, end)
	got := check(t, walk, "two frames", map[int]uint64{pc: function(bySP), sp: s.at(100)}, load.WalkEnd,
		function(bySP), function(byBP), end)
	if got.sp != s.at(122) || got.bp != 0xb0b0 || got.pointers != 0 {
		t.Errorf("two frames: got sp %#x, bp %#x, %d by pointer, want %#x, 0xb0b0, 0", got.sp, got.bp,
			got.pointers, s.at(122))
	}

	s.put(199, s.at(210)) // at bp-8: where the CFA is, less 8
	s.put(210, end)
	check(t, walk, "a frame by memory", map[int]uint64{pc: function(byMemory), sp: s.at(190), bp: s.at(200)},
		load.WalkEnd, function(byMemory), end)

	// In the first 11 bytes of an entry of 16 nothing is pushed yet.
	s.put(300, end)
	s.put(301, end+1)
	plt := function(byPLT) &^ 15
	check(t, walk, "the begin of a stub", map[int]uint64{pc: plt + 10, sp: s.at(300)}, load.WalkEnd,
		plt+10, end)
	check(t, walk, "the end of a stub", map[int]uint64{pc: plt + 11, sp: s.at(300)}, load.WalkEnd, plt+11,
		end+1)
	check(t, walk, "a stub that was interrupted", map[int]uint64{pc: function(byStub), sp: s.at(300)},
		load.WalkEnd, function(byStub), end)

	// The handler's caller is the code that was interrupted, whose r12 leads on, and bp to bx.
	frame := 40/8 + 400
	s.put(frame+4, s.at(499)-8)
	s.put(frame+10, s.at(600))
	s.put(frame+15, s.at(480))
	s.put(frame+16, function(byR12))
	s.put(499, end)
	s.put(597, 0xbbbb)
	got = check(t, walk, "a handler of signals", map[int]uint64{pc: function(signal), sp: s.at(400)},
		load.WalkEnd, function(signal), function(byR12), end)
	if got.bx != 0xbbbb {
		t.Errorf("a handler of signals: got bx %#x, want 0xbbbb", got.bx)
	}
	check(t, walk, "r12 of a caller", map[int]uint64{pc: function(byR12), others: 0, sp: s.at(400)},
		load.WalkComplex, function(byR12))

	check(t, walk, "a rule beyond the form", map[int]uint64{pc: function(complex)}, load.WalkComplex,
		function(complex))
	check(t, walk, "an unknown register", map[int]uint64{pc: function(unknown)}, load.WalkComplex,
		function(unknown))
	check(t, walk, "a rule that leads not up", map[int]uint64{pc: function(downwards), sp: s.at(400)},
		load.WalkBad, function(downwards))
	check(t, walk, "memory that cannot be read", map[int]uint64{pc: function(bySP), sp: s.at(1<<10 + 100)},
		load.WalkBad, function(bySP))
	check(t, walk, "no code", map[int]uint64{pc: 0x1234, sp: s.at(100)}, load.WalkNoCode, 0x1234)
	check(t, walk, "in front of the code", map[int]uint64{pc: code - 1, sp: s.at(100)}, load.WalkNoCode,
		code-1)

	// Where stacks are switched the frame pointer leads anywhere.
	s.put(50, 0)
	s.put(51, end)
	got = check(t, walk, "another stack", map[int]uint64{pc: function(bySwitch), sp: s.at(500), bp: s.at(50)},
		load.WalkEnd, function(bySwitch), end)
	if got.pointers != 1 {
		t.Errorf("another stack: got %d frames by pointer, want 1", got.pointers)
	}
}

// TestFramePointers checks that code without tables is left by its frame pointer, as long as that
// leads up.
func TestFramePointers(t *testing.T) {
	walk := walker(t, []unwind.Rule{{Kind: unwind.ByPointer}, {Kind: unwind.IsEnd}})
	s := newStack(t)
	untold := uint64(code + 0x1800) // in the block without rows
	s.put(100, s.at(110))
	s.put(101, untold)
	s.put(110, s.at(120))
	s.put(111, function(1))
	state := map[int]uint64{pc: function(0), sp: s.at(90), bp: s.at(100)}
	got := check(t, walk, "pairs", state, load.WalkEnd, function(0), untold, function(1))
	if got.pointers != 2 || got.sp != s.at(112) || got.bp != s.at(120) {
		t.Errorf("pairs: got %d by pointer, sp %#x, bp %#x", got.pointers, got.sp, got.bp)
	}
	s.put(110, s.at(105))
	check(t, walk, "a pair that leads down", state, load.WalkNoTable, function(0), untold)
	s.put(101, 0)
	check(t, walk, "the last pair", state, load.WalkEnd, function(0))
	for what, at := range map[string]uint64{"below the stack": s.at(80), "not aligned": s.at(100) + 4,
		"not readable": s.at(1<<10 + 8), "far away": s.at(90) + maxFrame} {
		state[bp] = at
		check(t, walk, what, state, load.WalkNoTable, function(0))
	}
}

// A walk has no more frames than there is room for, or than are wanted.
func TestDeepStacks(t *testing.T) {
	walk := walker(t, []unwind.Rule{{Kind: unwind.ByRegister, Reg: unwind.RegSP, Off: 8}})
	s := newStack(t)
	for i := range 2 * frames {
		s.put(100+i, function(0))
	}
	all := slices.Repeat([]uint64{function(0)}, frames)
	state := map[int]uint64{pc: function(0), sp: s.at(100), limit: 800}
	check(t, walk, "recursion", state, load.WalkDeep, all...)
	state[limit] = 8 * 5
	check(t, walk, "recursion, 5 frames wanted", state, load.WalkDeep, all[:5]...)
	s.put(103, 0)
	check(t, walk, "no return address", state, load.WalkEnd, all[:4]...)
}
