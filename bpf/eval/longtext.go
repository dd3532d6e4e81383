package eval

import (
	_ "embed"

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
// A routine (longtext.c) copies the text into scratch memory and hashes it to 128 bits; a map
// holds it under its hash. Package sent describes the bytes that the place has then. A text whose
// hash another text has is not stored: the event fails, and is counted.
//
// Short texts, nearly all, are copied to their place directly. A long text costs about 1 ns a
// byte.

//go:embed longtext.o
var longtextObject []byte

// routines holds the compiled routine of longtext.c; a test compiles it again
// and compares.
var routines = assembler.NewObject(longtextObject)

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
	from, memory := c.Alloc(8), c.AllocScratch(longMemory)
	c.Store(from, asm.R3)
	c.ScratchAddr(memory, k.fail)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
	c.Load(asm.R2, from)
	c.Addr(asm.R3, at)
	c.Routine(routines, "keep_text")
	c.IfImm(asm.JSLE, asm.R0, 0, k.fail)
	c.Stack = mark
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
