package eval

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/record/sent"
)

// This file generates what keeps texts that are too long for their places,
// in keys and in states: texts whose length only the record tells.
//
// The text is copied into scratch memory and hashed with 128 bits; a map has it by its
// hash. What stands in the place is told in package sent. A text that has the hash of another
// one is not kept: the event fails, and is counted.
//
// Short texts, nearly all, are in their place at once and take none of this. A long one costs
// about 1 ns a byte.

// longMemory is the size of the memory where a text is copied: with its NUL, and zeros to the end of
// the word behind it. Then comes how long it is: the verifier takes a number that is read from there
// for unknown, so that it follows a loop over the text once, and not once for each length.
const (
	longMemory   = sent.LongMost + 16
	longLengthAt = longMemory - 8
)

// wordSize is the bytes of a word. longMemory is a number of them.
const wordSize = 8

// mostLong bounds the texts that are there at a time. ppscript takes them away when half of that
// is taken (load/longtext.go).
const (
	mostLong     = 1 << 13
	mostReserved = 1 << 9 // where memory is set aside for all
)

// LongTexts keeps the long texts of a program.
type LongTexts struct {
	*assembler.Code
	fail assembler.Label
	// keeps and reads say what the program does.
	keeps, reads bool
}

// copy puts the text at the address in R3, of R2 bytes, to a place of the stack: one that is longer
// as Keep does if the place is large enough for that, else it jumps to fail.
func (k *LongTexts) copy(at int16, size int, fail assembler.Label) {
	long, end := fail, k.Label()
	if size == sent.LongRoom {
		long = k.Label()
	}
	k.IfImm(asm.JGT, asm.R2, sent.LongRoom, long)
	k.Addr(asm.R1, at)
	k.Call(asm.FnProbeReadKernelStr)
	if size == sent.LongRoom {
		k.GoTo(end)
		k.Place(long)
		k.keep(at, fail)
		k.Place(end)
	}
}

// keep puts the text at the address in R3, in memory of the kernel, to a place of the stack of
// sent.LongRoom bytes. R0 is how many bytes it has, with its NUL. An event whose text cannot be
// kept goes to fail.
func (k *LongTexts) keep(at int16, fail assembler.Label) {
	c := k.Code
	k.keeps, k.fail = true, fail
	mark := c.Stack
	from, scratch, hash := c.Alloc(8), c.Alloc(8), c.Alloc(sent.LongKey)
	memory := c.AllocScratch(longMemory)
	long, there, end := c.Label(), c.Label(), c.Label()
	c.Store(from, asm.R3)
	c.ScratchAddr(memory, k.fail)
	c.Store(scratch, asm.R0)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.Mov.Imm(asm.R2, sent.LongMost+1))
	c.Load(asm.R3, from)
	c.Call(asm.FnProbeReadKernelStr)
	c.IfImm(asm.JSLE, asm.R0, 0, k.fail)
	c.IfImm(asm.JGT, asm.R0, sent.LongMost, k.fail)
	c.IfImm(asm.JGT, asm.R0, sent.LongRoom, long)

	// What the record said was longer than the text.
	c.Zero(at, sent.LongRoom)
	c.Addr(asm.R1, at)
	c.Emit(asm.Mov.Imm(asm.R2, sent.LongRoom))
	c.Load(asm.R3, from)
	c.Call(asm.FnProbeReadKernelStr)
	c.GoTo(end)

	c.Place(long)
	c.Load(asm.R1, scratch)
	c.Emit(asm.StoreMem(asm.R1, longLengthAt, asm.R0, asm.DWord), asm.Add.Reg(asm.R1, asm.R0),
		assembler.StoreImm(asm.R1, 0, 0))
	k.hash(scratch, hash)
	k.store(scratch, hash, there)
	c.Place(there)
	c.Load(asm.R1, scratch)
	for i := int16(0); i < sent.LongFront; i += 8 {
		c.Emit(asm.LoadMem(asm.R0, asm.R1, i, asm.DWord))
		c.Store(at+i, asm.R0)
	}
	for i := int16(0); i < sent.LongKey; i += 8 {
		c.Load(asm.R0, hash+i)
		c.Store(at+sent.LongHash+i, asm.R0)
	}
	c.Load(asm.R1, scratch)
	c.Emit(asm.LoadMem(asm.R0, asm.R1, longLengthAt, asm.DWord), asm.Mov.Reg(asm.R1, asm.R0),
		asm.Sub.Imm(asm.R1, 1))
	c.Constant(asm.R2, 1<<56)
	c.Emit(asm.Or.Reg(asm.R1, asm.R2))
	c.Store(at+sent.LongLength, asm.R1)
	c.Place(end)
	c.Stack = mark
}

// words calls each for every word of a text, in R5, until it ends; R2 is the index of its
// first byte, R1 its place. R0 is lost.
func (k *LongTexts) words(scratch int16, each func()) {
	c := k.Code
	done := c.Label()
	c.Load(asm.R1, scratch)
	c.Emit(asm.Mov.Imm(asm.R2, 0))
	next := c.Loop()
	c.IfImm(asm.JGE, asm.R2, sent.LongMost, done)
	c.Load(asm.R5, scratch)
	c.Emit(asm.LoadMem(asm.R0, asm.R5, longLengthAt, asm.DWord))
	c.IfReg(asm.JGE, asm.R2, asm.R0, done)
	c.Emit(asm.LoadMem(asm.R5, asm.R1, 0, asm.DWord))
	each()
	c.Emit(asm.Add.Imm(asm.R1, 8), asm.Add.Imm(asm.R2, 8))
	c.Again(next)
	c.Place(done)
}

// hash leaves two numbers of a text at a place: polynomials of its words, whose high bits come
// down at each step.
func (k *LongTexts) hash(scratch, hash int16) {
	c := k.Code
	c.Emit(asm.Mov.Imm(asm.R3, 0), asm.Mov.Imm(asm.R4, 0))
	mix := func(r asm.Register, prime, down int32) {
		c.Emit(asm.Xor.Reg(r, asm.R5), asm.Mul.Imm(r, prime), asm.Mov.Reg(asm.R0, r),
			asm.RSh.Imm(asm.R0, down), asm.Xor.Reg(r, asm.R0))
	}
	k.words(scratch, func() {
		mix(asm.R3, 0x5bd1e995, 29)
		mix(asm.R4, 0x7feb352d, 31)
	})
	c.Store(hash, asm.R3)
	c.Store(hash+8, asm.R4)
}

// store keeps a text under its hash, unless it is there, and jumps there. It jumps to Fail if
// another one is there, or if there is no room.
func (k *LongTexts) store(scratch, hash int16, there assembler.Label) {
	c := k.Code
	texts, found, full := load.LongTextsMap.Of(), c.Label(), c.Label()
	c.Look(texts, hash, found)
	c.MapPtr(asm.R1, texts)
	c.Addr(asm.R2, hash)
	c.Load(asm.R3, scratch)
	c.Emit(asm.Mov.Imm(asm.R4, int32(ebpf.UpdateNoExist)))
	c.Call(asm.FnMapUpdateElem)
	c.Widen()
	c.IfImm(asm.JNE, asm.R0, 0, full)
	c.MapValue(asm.R1, load.LongCountMap.Of(), 0)
	c.Emit(asm.Mov.Imm(asm.R2, 1), asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0))
	c.GoTo(there)
	c.Place(full)
	c.Look(texts, hash, found) // another CPU was faster
	c.GoTo(k.fail)
	c.Place(found)
	c.Emit(asm.Mov.Reg(asm.R4, asm.R0))
	k.words(scratch, func() {
		c.Emit(asm.LoadMem(asm.R3, asm.R4, 0, asm.DWord))
		c.IfReg(asm.JNE, asm.R3, asm.R5, k.fail)
		c.Emit(asm.Add.Imm(asm.R4, 8))
	})
}

// matches jumps to l if "the text of the place matches p" is want, of a text that is kept.
func (k *LongTexts) matches(at int16, p *pattern, want bool, l, fail assembler.Label) {
	c := k.Code
	k.reads, k.fail = true, fail
	mark := c.Stack
	index, over := c.Alloc(8), c.Label()
	c.Get(load.LongTextsMap.Of(), at+sent.LongHash, k.fail)
	c.Emit(asm.Mov.Reg(asm.R5, asm.R0))
	c.Zero(index, 8)
	text := textCode{Code: c, Fail: k.fail}
	step := text.matcher(p)
	next := c.Loop()
	c.Load(asm.R2, index)
	c.IfImm(asm.JGE, asm.R2, sent.LongMost, k.fail) // not before its NUL
	c.Emit(asm.Add.Imm(asm.R2, wordSize))
	c.Store(index, asm.R2)
	// The verifier follows each turn, so that a turn is a word: zeros follow the NUL to its end.
	for i := range int16(wordSize) {
		c.Emit(asm.LoadMem(asm.R1, asm.R5, i, asm.Byte))
		step()
	}
	c.Emit(asm.LoadMem(asm.R1, asm.R5, wordSize-1, asm.Byte))
	c.IfImm(asm.JEq, asm.R1, 0, over)
	c.Emit(asm.Add.Imm(asm.R5, wordSize))
	c.Again(next)
	c.Place(over)
	c.Zero(index, 8) // paths of all lengths are one from here on
	text.matched(p, want, l)
	c.Stack = mark
}

// hasSuffix jumps to l if "the text of the place ends with suffix" is want, of a text that is
// kept. Places are shorter than long texts are: the suffix lies within it.
func (k *LongTexts) hasSuffix(at int16, suffix string, want bool, l, fail assembler.Label) {
	c := k.Code
	k.reads, k.fail = true, fail
	if len(suffix) >= sent.LongRoom {
		assembler.Refuse("an end of %d bytes of a long text", len(suffix))
	}
	c.Get(load.LongTextsMap.Of(), at+sent.LongHash, k.fail)
	c.Load(asm.R1, at+sent.LongLength)
	c.Emit(asm.LSh.Imm(asm.R1, 8), asm.RSh.Imm(asm.R1, 8), asm.Sub.Imm(asm.R1, int32(len(suffix))))
	c.IfImm(asm.JGT, asm.R1, sent.LongMost-int32(len(suffix)), k.fail) // the verifier cannot know
	c.Emit(asm.Add.Reg(asm.R0, asm.R1))
	differ, to := c.Label(), l
	if want {
		to = differ
	}
	for i := range len(suffix) {
		c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(i), asm.Byte))
		c.IfImm(asm.JNE, asm.R1, int32(suffix[i]), to)
	}
	if want {
		c.GoTo(l)
	}
	c.Place(differ)
}

// failLong jumps to fail for a text that is longer than its place. R0 stays.
func failLong(c *assembler.Code, at int16, fail assembler.Label) {
	c.LoadPart(asm.R1, at+sent.LongMark, asm.Byte)
	c.IfImm(asm.JNE, asm.R1, 0, fail)
}

// LongTextMaps gives away the maps of programs that keep texts, or read some.
func LongTextMaps(h *features.Host, programs []*LongTexts, define func(load.MapID, *ebpf.MapSpec)) {
	keep := false
	for _, k := range programs {
		keep = keep || k.keeps || k.reads
	}
	if !keep {
		return
	}
	limit := mostLong
	if !h.Grows {
		limit = mostReserved
	}
	define(load.LongTextsMap.Of(), state.Grow(h, &ebpf.MapSpec{Type: ebpf.Hash, KeySize: sent.LongKey,
		ValueSize: longMemory}, limit, limit))
	define(load.LongCountMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
}
