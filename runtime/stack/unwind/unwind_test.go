package unwind

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"ppscript/runtime/source/perf"
)

// cfiBytes makes a section with one CIE and one FDE.
func cfiBytes(signal bool, ra uint8, dataAlign byte, cieProgram []byte, start, size uint32,
	program []byte) []byte {
	aug := "zR\x00"
	if signal {
		aug = "zRS\x00"
	}
	entry := func(body []byte) []byte {
		for len(body)%4 != 0 {
			body = append(body, 0) // nop
		}
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	cie := append([]byte{0, 0, 0, 0, 1}, aug...)
	cie = append(cie, 1, dataAlign&0x7f, ra, 1, ptrU4)
	section := entry(append(cie, cieProgram...))
	fde := binary.LittleEndian.AppendUint32(nil, uint32(len(section)+4))
	fde = binary.LittleEndian.AppendUint32(fde, start)
	fde = binary.LittleEndian.AppendUint32(fde, size)
	fde = append(fde, 0)
	return append(section, entry(append(fde, program...))...)
}

// amd64CFI is as gcc writes it: CFA is rsp+8, the return address at CFA-8;
// then push rbp, mov rbp, rsp.
func amd64CFI() []byte {
	return cfiBytes(false, 16, 0x78, []byte{0x0c, 7, 8, 0x80 | 16, 1}, 0x1000, 0x100,
		[]byte{0x41, 0x0e, 16, 0x80 | 6, 2, 0x43, 0x0d, 6})
}

func parse(t *testing.T, data []byte) *ruleTable {
	t.Helper()
	table, err := parseCFI(section{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestParse(t *testing.T) {
	table := parse(t, amd64CFI())
	f := func(addr uint64, cfa, ra string) {
		t.Helper()
		r := table.find(addr)
		gotCFA, gotRA := "none", ""
		if r != nil {
			gotCFA, gotRA = describe(table, r, func(i int) string { return amd64Names[i] })
		}
		if gotCFA != cfa || gotRA != ra {
			t.Errorf("%#x: got %s %s, want %s %s", addr, gotCFA, gotRA, cfa, ra)
		}
	}
	f(0xfff, "none", "")
	f(0x1000, "rsp+8", "c-8")
	f(0x1001, "rsp+16", "c-8")
	f(0x1003, "rsp+16", "c-8")
	f(0x1004, "rbp+16", "c-8")
	f(0x10ff, "rbp+16", "c-8")
	f(0x1100, "none", "")
	f(1<<63, "none", "")
}

// stepOf runs one step of a walk with these registers.
func stepOf(t *testing.T, a *arch, table *ruleTable, addr uint64, set map[uint8]uint64,
	stack []uint64) (*walk, step) {
	t.Helper()
	w := &walk{arch: a, pc: addr, base: set[a.sp]}
	for reg, v := range set {
		w.regs[reg] = v
	}
	for _, v := range stack {
		w.stack = binary.LittleEndian.AppendUint64(w.stack, v)
	}
	r := table.find(addr)
	if r == nil {
		t.Fatalf("%#x: no rules", addr)
	}
	return w, w.byRules(table, r, true)
}

func TestStep(t *testing.T) {
	table := parse(t, amd64CFI())
	w, s := stepOf(t, &amd64, table, 0x1000, map[uint8]uint64{7: 0x7000, 6: 99}, []uint64{0x4444})
	if s != stepOn || w.pc != 0x4444 || w.regs[7] != 0x7008 || w.regs[6] != 99 {
		t.Errorf("at the first instruction: got %v pc %#x sp %#x bp %d", s, w.pc, w.regs[7], w.regs[6])
	}
	w, s = stepOf(t, &amd64, table, 0x1010, map[uint8]uint64{7: 0x7000, 6: 0x7010},
		[]uint64{1, 2, 0x7777, 0x4444})
	if s != stepOn || w.pc != 0x4444 || w.regs[7] != 0x7020 || w.regs[6] != 0x7777 {
		t.Errorf("in the body: got %v pc %#x sp %#x bp %#x", s, w.pc, w.regs[7], w.regs[6])
	}
	_, s = stepOf(t, &amd64, table, 0x1010, map[uint8]uint64{7: 0x7000, 6: 0x7010}, []uint64{1, 2, 0x7777})
	if s != stepShort {
		t.Errorf("with a short stack: got %v, want stepShort", s)
	}
	_, s = stepOf(t, &amd64, table, 0x1010, map[uint8]uint64{7: 0x7000, 6: 0x6000}, []uint64{1, 2})
	if s == stepOn || s == stepEnd {
		t.Errorf("with a frame below the stack: got %v", s)
	}
	_, s = stepOf(t, &amd64, table, 0x1000, map[uint8]uint64{7: 0x7000}, []uint64{0})
	if s != stepEnd {
		t.Errorf("without a return address: got %v, want stepEnd", s)
	}
	none := parse(t, cfiBytes(false, 16, 0x78, []byte{0x0c, 7, 8, 0x07, 16}, 0x1000, 0x100, nil))
	if _, s = stepOf(t, &amd64, none, 0x1000, map[uint8]uint64{7: 0x7000}, []uint64{1}); s != stepEnd {
		t.Errorf("where the return address is undefined: got %v, want stepEnd", s)
	}
}

// A leaf of arm64 returns through the link register; others saved it, maybe
// signed.
func TestStepARM64(t *testing.T) {
	// CFA is sp; then sp+32 with x29 at CFA-32 and x30 at CFA-24.
	table := parse(t, cfiBytes(false, 30, 0x78, []byte{0x0c, 31, 0}, 0x1000, 0x100,
		[]byte{0x44, 0x0e, 32, 0x80 | 29, 4, 0x80 | 30, 3}))
	w, s := stepOf(t, &arm64, table, 0x1000, map[uint8]uint64{31: 0x7000, 30: 0x4444}, nil)
	if s != stepOn || w.pc != 0x4444 || w.regs[31] != 0x7000 {
		t.Errorf("leaf: got %v pc %#x sp %#x", s, w.pc, w.regs[31])
	}
	w, s = stepOf(t, &arm64, table, 0x1010, map[uint8]uint64{31: 0x7000, 30: 1},
		[]uint64{0x7777, 0x00ff_0000_0000_4444 | 1<<54, 0, 0})
	if s != stepOn || w.pc != 0x4444 || w.regs[31] != 0x7020 || w.regs[29] != 0x7777 {
		t.Errorf("body: got %v pc %#x sp %#x fp %#x", s, w.pc, w.regs[31], w.regs[29])
	}
	// Rules without the link register end the walk of a caller.
	w = &walk{arch: &arm64, pc: 0x1000}
	w.regs[31], w.regs[30] = 0x7000, 0x1000
	if s := w.byRules(table, table.find(0x1000), false); s != stepEnd {
		t.Errorf("a leaf as a caller: got %v, want stepEnd", s)
	}
}

// TestPointerThenTable checks that after a step by frame pointer the stack pointer of arm64 is not
// known: the next function's own frame pointer tells where its frame is.
func TestPointerThenTable(t *testing.T) {
	table := parse(t, cfiBytes(false, 30, 0x78, []byte{0x0c, 31, 0}, 0x1000, 0x100,
		[]byte{0x44, 0x0e, 48, 0x80 | 29, 6, 0x80 | 30, 5}))
	w := &walk{arch: &arm64, pc: 0x9000, base: 0x7000}
	// Code without tables has its pair at 0x7010, in the middle of its frame;
	// its caller's frame is 0x7028 to 0x7058, with its pair at the bottom.
	for _, v := range []uint64{1, 2, 0x7028, 0x1010, 5, 0x7100, 0x4444, 8, 9, 10, 11} {
		w.stack = binary.LittleEndian.AppendUint64(w.stack, v)
	}
	w.regs[31], w.regs[29], w.regs[30] = 0x7000, 0x7010, 3
	if s := w.byPointer(w.pc); s != stepOn || w.pc != 0x1010 {
		t.Fatalf("by pointer: got %v pc %#x, want 0x1010", s, w.pc)
	}
	s := w.byRules(table, table.find(0x1010), false)
	if s != stepOn || w.pc != 0x4444 || w.regs[31] != 0x7058 || w.regs[29] != 0x7100 || w.spLost {
		t.Errorf("by table: got %v pc %#x sp %#x fp %#x", s, w.pc, w.regs[31], w.regs[29])
	}
}

// A stub is left as if its call had just been made.
func TestStub(t *testing.T) {
	w := &walk{arch: &arm64, pc: 0x500}
	w.regs[31], w.regs[30] = 0x7000, 0x4444
	if s := w.byStub(); s != stepOn || w.pc != 0x4444 || w.regs[31] != 0x7000 {
		t.Errorf("arm64: got %v pc %#x sp %#x", s, w.pc, w.regs[31])
	}
	w = &walk{arch: &amd64, pc: 0x500, base: 0x7000, stack: binary.LittleEndian.AppendUint64(nil, 0x4444)}
	w.regs[7] = 0x7000
	if s := w.byStub(); s != stepOn || w.pc != 0x4444 || w.regs[7] != 0x7008 {
		t.Errorf("amd64: got %v pc %#x sp %#x", s, w.pc, w.regs[7])
	}
	w.stack = nil
	if s := w.byStub(); s != stepShort {
		t.Errorf("without a stack: got %v, want stepShort", s)
	}
}

func TestEval(t *testing.T) {
	f := func(want uint64, ok bool, code ...byte) {
		t.Helper()
		w := &walk{arch: &amd64, base: 0x7000, stack: binary.LittleEndian.AppendUint64(nil, 0x1234)}
		w.regs[7], w.regs[16] = 0x7000, 0x100b
		if got, gotOK := w.eval(code, 5, true); gotOK != ok || ok && got != want {
			t.Errorf("% x: got %#x %v, want %#x %v", code, got, gotOK, want, ok)
		}
	}
	// gcc's expression for the PLT: rsp+8, and 8 more from the 11th byte on.
	plt := []byte{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}
	f(0x7010, true, plt...)
	f(5, true)
	f(0x1234, true, 0x77, 0, 0x06)           // deref
	f(0x34, true, 0x77, 0, 0x94, 1)          // deref_size 1
	f(0, false, 0x77, 8, 0x06)               // outside of the copy
	f(0, false, 0x22)                        // too few
	f(0, false, 0x2f, 0xfd, 0xff)            // a loop
	f(0, false, 0x08)                        // cut off
	f(7, true, 0x32, 0x22)                   // 5 + 2
	f(3, true, 0x32, 0x1c)                   // 5 - 2
	f(0, false, 0x30, 0x1b)                  // 5 / 0
	f(^uint64(0), true, 0x31, 0x1f)          // -1
	f(9, true, 0x31, 0x28, 1, 0, 0x38, 0x39) // jumps over lit8
}

func TestMask(t *testing.T) {
	if Mask(elf.EM_X86_64) != 0xff01ff || Mask(elf.EM_AARCH64) != 1<<33-1 || Mask(elf.EM_S390) != 0 {
		t.Errorf("got %#x, %#x, %#x", Mask(elf.EM_X86_64), Mask(elf.EM_AARCH64), Mask(elf.EM_S390))
	}
	if Mask(elf.EM_NONE) == 0 || Mask(elf.EM_NONE)&^perf.UserRegs() != 0 {
		t.Errorf("of this machine: got %#x, want some of those that can be sampled, %#x",
			Mask(elf.EM_NONE), perf.UserRegs())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(amd64CFI(), false, uint64(0x1004))
	f.Add(cfiBytes(true, 30, 0x78, []byte{0x0c, 31, 0}, 0x1000, 0x100,
		[]byte{0x0a, 0x41, 0x0f, 2, 0x77, 8, 0x42, 0x0b, 0x16, 3, 1, 0x30}), false, uint64(0x1001))
	f.Add([]byte{16, 0, 0, 0, 255, 255, 255, 255, 4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1}, true,
		uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, debug bool, addr uint64) {
		table, err := parseCFI(section{Data: data, Addr: 0x400, Debug: debug})
		if (table == nil) == (err == nil) {
			t.Fatalf("got %v and %v, want one", table, err)
		}
		if err != nil {
			return
		}
		if !slices.IsSorted(table.pcs) || len(slices.Compact(slices.Clone(table.pcs))) != len(table.pcs) {
			t.Fatal("addresses are not ascending")
		}
		if table.Bytes() > 4096+64*len(data)*len(data) {
			t.Fatalf("got %d bytes from %d", table.Bytes(), len(data))
		}
		// Any rules with any registers: a step, or a reason.
		for _, a := range []*arch{&amd64, &arm64} {
			w := &walk{arch: a, pc: addr, base: 0x7000, stack: data}
			for i := range w.regs {
				w.regs[i] = 0x7000 + 8*uint64(i)
			}
			for _, at := range []uint64{addr, table.base, table.base + 4} {
				if r := table.find(at); r != nil {
					before := w.regs[a.sp]
					if w.byRules(table, r, true) == stepOn && w.regs[a.sp] < before {
						t.Fatal("the stack went down")
					}
				}
			}
		}
	})
}

func TestNoRegisters(t *testing.T) {
	u := New(Options{Machine: elf.EM_X86_64})
	if got, how := u.Walk(nil, 1, 0, 0, nil, nil); len(got) != 0 || how.Stop != NoRegs {
		t.Errorf("got %x and %v, want nothing and NoRegs", got, how.Stop)
	}
	if got, how := u.Walk(nil, 1, 0, 0xff01ff, make([]uint64, 3), nil); len(got) != 0 || how.Stop != NoRegs {
		t.Errorf("with too few: got %x and %v", got, how.Stop)
	}
	if _, err := parseCFI(section{}); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("empty section: got %v", err)
	}
}
