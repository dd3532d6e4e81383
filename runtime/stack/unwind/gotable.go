package unwind

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/symbol"
)

// This file converts .gopclntab to rules. Go's own tracebacks need this
// section, so it remains in stripped programs. For each function, the table
// pcsp has the distance, at every instruction, of the stack pointer from its
// value at the function's entry. The linker makes .debug_frame from the same
// tables, and both give the same rules.
//
// The layout is the one of Go 1.18 and later (struct pcHeader in
// runtime/symtab.go, _func in runtime/runtime2.go). For older programs, frame
// pointers are used.

// Magic numbers of .gopclntab, and offsets of flags in a _func.
const (
	goMagic118, goFlag118 = 0xfffffff0, 37
	goMagic120, goFlag120 = 0xfffffff1, 41

	goPCSP     = 16 // offset of pcsp in a _func, which is at least goFlag120+1 long
	goTopFrame = 1  // flag: this function has no caller
	goSPWrite  = 2  // flag: it moves to another stack, which the table does not describe

	maxGoRows = maxTableRows
)

// A goTable has the parts of .gopclntab.
type goTable struct {
	arch    *arch
	start   uint64 // base of the offsets of functions
	quantum uint64
	flag    int
	pctab   []byte
	funcs   []byte // pairs of a function's entry and the offset of its _func in infos
	infos   []byte
	// switches are the functions that move to another stack.
	switches []span
	sets     map[goDepth]uint32
}

// goDepth is the depth of Go's stack at an address, which determines the rules.
type goDepth struct {
	depth int32
	top   bool // in a function without a caller
}

// goRules reads the rules of a Go program, and the functions that move to
// another stack; nil if it has no table.
func goRules(im *dso.Image) (rules *ruleTable, switches []span, err error) {
	data, start, err := symbol.GoTable(im)
	a := archOf(im.Machine)
	if data == nil || a == nil || err != nil {
		return nil, nil, err
	}
	return parseGoTable(a, data, start)
}

// parseGoTable makes rules from a section's bytes.
func parseGoTable(a *arch, data []byte, start uint64) (rules *ruleTable, switches []span, err error) {
	const header = 8 + 8*8
	if len(data) < header || data[7] != 8 || data[6] == 0 {
		return nil, nil, errors.New("section .gopclntab: no header of a 64-bit machine")
	}
	t := goTable{arch: a, start: start, quantum: uint64(data[6]), sets: map[goDepth]uint32{}}
	switch magic := le.Uint32(data); magic {
	case goMagic118:
		t.flag = goFlag118
	case goMagic120:
		t.flag = goFlag120
	default:
		return nil, nil, fmt.Errorf("section .gopclntab: got version %#x, want that of Go 1.18 or later",
			magic)
	}
	part := func(word int) []byte {
		if off := le.Uint64(data[8+8*word:]); off < uint64(len(data)) {
			return data[off:]
		}
		return nil
	}
	n := le.Uint64(data[8:])
	t.pctab, t.infos = part(6), part(7)
	if size := uint64(len(t.infos)); n == 0 || size < 4 || n > (size-4)/8 {
		return nil, nil, fmt.Errorf("section .gopclntab: got %d functions, more than it has room for", n)
	}
	t.funcs = t.infos[:8*n+4] // the last function is followed by its end
	rules = t.rules(int(n))
	return rules, t.switches, nil
}

// rules makes the rows of all functions.
func (t *goTable) rules(n int) *ruleTable {
	b := newTableBuilder(t.entry(0))
	rows := 0
	for i := range n {
		from, to := t.entry(i), t.entry(i+1)
		info := t.info(i)
		if info == nil || to <= from || rows > maxGoRows {
			b.row(from, noRules)
			continue
		}
		if info[t.flag]&goSPWrite != 0 {
			t.switches = append(t.switches, span{from, to})
		}
		rows += t.function(b, info, from, to)
	}
	b.row(t.entry(n), noRules)
	return b.table()
}

func (t *goTable) entry(i int) uint64 { return t.start + uint64(le.Uint32(t.funcs[8*i:])) }

func (t *goTable) info(i int) []byte {
	off := uint64(le.Uint32(t.funcs[8*i+4:]))
	if size := uint64(len(t.infos)); off > size || size-off <= goFlag120 {
		return nil
	}
	return t.infos[off:]
}

// function makes the rows of one function. Its table is pairs of numbers: the
// change of the depth, and the number of instructions for which the new depth
// is valid.
func (t *goTable) function(b *tableBuilder, info []byte, from, to uint64) (rows int) {
	top := info[t.flag]&goTopFrame != 0
	off := uint64(le.Uint32(info[goPCSP:]))
	if off == 0 || off >= uint64(len(t.pctab)) {
		b.row(from, t.set(b, 0, top)) // it never changes the stack pointer
		return 1
	}
	depth, pc := int64(-1), from
	for c := (cursor{b: t.pctab, at: int(off)}); pc < to; rows++ {
		change := c.uleb()
		if change == 0 && pc != from || c.bad {
			break
		}
		steps := c.uleb()
		depth += int64(change>>1) ^ -int64(change&1)
		if c.bad || steps == 0 || steps > (to-pc)/t.quantum || depth != int64(int32(depth)) {
			break
		}
		b.row(pc, t.set(b, int32(depth), top))
		pc += steps * t.quantum
	}
	if pc < to {
		b.row(pc, noRules)
	}
	return rows + 1
}

// set returns the rules at a depth. On amd64 the call has pushed the return
// address above the frame. On arm64 it is in the link register until there is a
// frame, and then at the frame's bottom.
func (t *goTable) set(b *tableBuilder, depth int32, top bool) uint32 {
	at := goDepth{depth, top}
	if set, ok := t.sets[at]; ok {
		return set
	}
	s := state{cfaReg: t.arch.sp, cfaOff: depth, cfaSet: true}
	ra := t.arch.lr
	switch {
	case t.arch.machine == elf.EM_X86_64:
		ra = t.arch.pc
		s.cfaOff += 8
		s.set(ra, regRule{kind: atOffset, off: -8})
	case top:
		s.set(ra, regRule{kind: undefined})
	case depth > 0:
		s.set(ra, regRule{kind: atOffset, off: -depth})
	}
	t.sets[at] = b.set(&s, ra, false)
	return t.sets[at]
}

var le = binary.LittleEndian
