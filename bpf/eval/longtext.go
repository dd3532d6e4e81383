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

// This file generates code that stores texts which are too long for their
// places, in keys and in states. Only texts whose length is in the record
// (__data_loc) can be so long.
//
// The text is copied into scratch memory and hashed to 128 bits; a map holds it under its
// hash. Package sent describes the bytes that the place has then. A text whose hash another
// text has is not stored: the event fails, and is counted.
//
// Short texts, nearly all, are copied to their place directly. A long text costs about 1 ns a
// byte.

// longMemory is the size of the memory to which a text is copied, with its NUL, and zeros to the
// end of the word behind it. Its length follows: a number that is read from memory is unknown to
// the verifier, so that it follows a loop over the text once, and not once for each length.
const (
	longMemory   = sent.LongMost + 16
	longLengthAt = longMemory - 8
)

// wordSize is the size of a word in bytes, of which longMemory is a multiple.
const wordSize = 8

// mostLong bounds the number of texts in the map. User space empties it when it is half full
// (load/longtext.go).
const (
	mostLong     = 1 << 13
	mostReserved = 1 << 9 // on kernels where maps reserve memory for all entries
)

// LongTexts generates code that stores and reads the long texts of a program.
type LongTexts struct {
	*assembler.Code
	fail assembler.Label
	// keeps and reads say that the program stores such texts, and reads their
	// bytes.
	keeps, reads bool
}

// copy copies the text at the address in R3, of R2 bytes, to a place. A text that is too long for
// it is stored by keep if the place has sent.LongRoom bytes; else copy jumps to fail.
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

// keep stores the text at the address in R3, in memory of the kernel, and writes its beginning,
// hash and length to a place of sent.LongRoom bytes. R0 is then its length, with its NUL. It
// jumps to fail if the text cannot be stored.
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

	// The record gave a greater length than the text has.
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

// words loops over the words of a text. For each word the code of each runs, with the
// word in R5, the index of its first byte in R2 and its address in R1. It overwrites R0.
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

// hash writes the hash of a text to a place: two numbers, each a polynomial of the text's
// words, whose high bits are mixed into the low ones at each step.
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

// store stores a text under its hash. If the map has the text already, it goes on. It jumps
// to k.fail if another text has the hash, or if the map is full.
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

// matches jumps to l if "the text of the place matches p" is want, for a text that keep
// stored.
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
	c.Zero(index, 8) // so that the verifier follows the rest once, not once for each length
	text.matched(p, want, l)
	c.Stack = mark
}

// hasSuffix jumps to l if "the text of the place ends with suffix" is want, for a text that
// keep stored. The suffix must be shorter than a place, so it is shorter than every stored
// text.
func (k *LongTexts) hasSuffix(at int16, suffix string, want bool, l, fail assembler.Label) {
	c := k.Code
	k.reads, k.fail = true, fail
	if len(suffix) >= sent.LongRoom {
		assembler.Refuse("an end of %d bytes of a long text", len(suffix))
	}
	c.Get(load.LongTextsMap.Of(), at+sent.LongHash, k.fail)
	c.Load(asm.R1, at+sent.LongLength)
	c.Emit(asm.LSh.Imm(asm.R1, 8), asm.RSh.Imm(asm.R1, 8), asm.Sub.Imm(asm.R1, int32(len(suffix))))
	c.IfImm(asm.JGT, asm.R1, sent.LongMost-int32(len(suffix)), k.fail) // so already; the verifier requires it
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

// LongTextMaps defines the maps of long texts if some program stores or reads
// them.
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
