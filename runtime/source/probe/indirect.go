package probe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// This file finds the implementations of indirect functions (STT_GNU_IFUNC), such as strlen of
// glibc, or functions that are compiled with target_clones. The code at their symbol is a resolver.
// It runs once, when a program is linked, and returns the address of the implementation for the
// machine, which is then called. A probe on the resolver would only count how often programs were
// linked.
//
// The code of a resolver has the addresses of all implementations that it can return, as operands
// of instructions that compute an address, or in slots of its file that the linker fills. All of
// them are probed. The one that is returned depends on the machine and on the environment
// (GLIBC_TUNABLES), and can differ between processes; the others are never called, so that probing
// them does no harm.

// maxResolver bounds the code of a resolver, in bytes; maxHelpers bounds the functions that it
// calls to find the address.
const (
	maxResolver = 4 << 10
	maxHelpers  = 8
)

// A choice has the implementations that a resolver can return.
type choice struct {
	code []function
	vdso string // a function of the kernel's vDSO, which has no file and hence no probes
}

// choices returns the implementations that an indirect function can have.
func (m *image) choices(fn function) choice {
	var c choice
	todo, done := []function{fn}, 0
	for ; done < len(todo) && done < maxHelpers && len(c.code) == 0; done++ {
		refs := m.references(todo[done])
		for _, a := range refs.addrs {
			c.add(m, fn, a)
		}
		for _, a := range refs.calls {
			if helper, ok := m.at(a); ok && !slices.ContainsFunc(todo, func(f function) bool {
				return f.addr == helper.addr
			}) {
				todo = append(todo, helper)
			}
		}
	}
	slices.SortFunc(c.code, func(a, b function) int { return strings.Compare(a.name, b.name) })
	return c
}

// add adds an address that the resolver computes, if it is the address of an implementation.
func (c *choice) add(m *image, resolver function, addr uint64) {
	if _, err := m.codeOffset(addr); err != nil {
		if c.vdso == "" {
			c.vdso = vdsoName(m.Bytes(addr, 64))
		}
		return
	}
	if addr-resolver.addr < resolver.size || slices.ContainsFunc(c.code, func(f function) bool {
		return f.addr == addr
	}) {
		return
	}
	fn, ok := m.at(addr)
	switch {
	case !ok:
		fn = function{name: fmt.Sprintf("0x%x", addr), addr: addr} // in a stripped file
	case fn.addr != addr:
		return // an address inside of a function is no implementation
	}
	c.code = append(c.code, fn)
}

// vdsoName returns the name of a function of the vDSO if b begins with one: resolvers of
// gettimeofday and time look up such a name.
func vdsoName(b []byte) string {
	name, _, ok := bytes.Cut(b, []byte{0})
	if ok && (bytes.HasPrefix(name, []byte("__vdso_")) || bytes.HasPrefix(name, []byte("__kernel_"))) {
		return string(name)
	}
	return ""
}

// references are the addresses that a function computes, and the addresses of the functions that
// it calls.
type references struct{ addrs, calls []uint64 }

func (m *image) references(fn function) (r references) {
	fn.size = min(fn.size, maxResolver)
	code, err := m.code(fn)
	if err != nil {
		return r
	}
	switch m.Machine {
	case elf.EM_X86_64:
		m.referencesX86(&r, code, fn.addr)
	case elf.EM_AARCH64:
		m.referencesARM(&r, code, fn.addr)
	}
	return r
}

func (m *image) referencesX86(r *references, code []byte, addr uint64) {
	walkCode(m.Machine, code, func(off int, _ bool) bool {
		inst, err := x86asm.Decode(code[off:min(len(code), off+x86MaxInstruction)], 64)
		if err != nil {
			return true
		}
		next := addr + uint64(off) + uint64(inst.Len)
		for _, arg := range inst.Args {
			switch a := arg.(type) {
			case x86asm.Rel:
				if inst.Op == x86asm.CALL || inst.Op == x86asm.JMP {
					r.calls = append(r.calls, next+uint64(int64(a)))
				}
			case x86asm.Mem:
				at := next + uint64(int64(int32(a.Disp)))
				if a.Base != x86asm.RIP || a.Index != 0 {
					continue
				}
				switch inst.Op {
				case x86asm.LEA:
					r.addrs = append(r.addrs, at)
				case x86asm.MOV, x86asm.CMOVE, x86asm.CMOVNE, x86asm.CMOVA, x86asm.CMOVAE, x86asm.CMOVB,
					x86asm.CMOVBE, x86asm.CMOVS, x86asm.CMOVNS:
					r.slot(m, at)
				}
			case x86asm.Imm: // in a program that is loaded at its linked addresses
				if inst.Op == x86asm.MOV && m.Type == elf.ET_EXEC && a > 0 {
					r.addrs = append(r.addrs, uint64(a))
				}
			}
		}
		return true
	})
}

// slot adds the address that the linker stores in a slot.
func (r *references) slot(m *image, at uint64) {
	if a, ok := m.filled()[at]; ok {
		r.addrs = append(r.addrs, a)
	}
}

// referencesARM decodes the instructions of arm64 that make addresses: ADR and ADRP, ADD of a
// constant, LDR from a constant offset, B and BL.
func (m *image) referencesARM(r *references, code []byte, addr uint64) {
	var page [32]uint64 // by register, the result of ADRP
	for off := 0; off+arm64InstructionSize <= len(code); off += arm64InstructionSize {
		w := uint64(binary.LittleEndian.Uint32(code[off:]))
		pc := addr + uint64(off)
		to, from, imm12 := w&31, w>>5&31, w>>10&0xfff
		near := uint64(int64((w>>5&0x7ffff)<<2|w>>29&3) << 43 >> 43)
		switch {
		case w&0x9f000000 == 0x10000000:
			r.addrs = append(r.addrs, pc+near)
		case w&0x9f000000 == 0x90000000:
			page[to] = pc&^0xfff + near<<12
		case w&0xffc00000 == 0x91000000 && page[from] != 0:
			r.addrs = append(r.addrs, page[from]+imm12)
		case w&0xffc00000 == 0xf9400000 && page[from] != 0:
			r.slot(m, page[from]+imm12*8)
		case w&0x7c000000 == 0x14000000:
			r.calls = append(r.calls, pc+uint64(int64(w&0x3ffffff)<<38>>36))
		}
	}
}

// Relocations that store the address of a function of the file in a slot.
const (
	relativeX86, globX86 = uint32(elf.R_X86_64_RELATIVE), uint32(elf.R_X86_64_GLOB_DAT)
	relativeARM, globARM = uint32(elf.R_AARCH64_RELATIVE), uint32(elf.R_AARCH64_GLOB_DAT)
)

// filled maps slots to the addresses in the file that the linker stores there.
func (m *image) filled() map[uint64]uint64 {
	if m.slots != nil {
		return m.slots
	}
	m.slots = map[uint64]uint64{}
	rela := m.Section(".rela.dyn")
	if rela == nil {
		return m.slots
	}
	data, err := m.SectionData(rela)
	if err != nil {
		return m.slots
	}
	syms, _ := m.DynamicSymbols()
	const size = 24 // struct Elf64_Rela
	for ; len(data) >= size; data = data[size:] {
		at, info := m.ByteOrder.Uint64(data), m.ByteOrder.Uint64(data[8:])
		addend := m.ByteOrder.Uint64(data[16:])
		switch uint32(info) {
		case relativeX86, relativeARM:
			m.slots[at] = addend
		case globX86, globARM:
			if i := info >> 32; i > 0 && i <= uint64(len(syms)) && syms[i-1].Section != elf.SHN_UNDEF {
				m.slots[at] = syms[i-1].Value
			}
		}
	}
	return m.slots
}

// errNoChoice is the reason if no implementation is found in the code of a
// resolver.
var errNoChoice = errors.New("it is an indirect function: its resolver chooses what is called, and " +
	"the resolver's code does not show the addresses of the implementations")

// called replaces the indirect functions in fns by their implementations. The note for the user
// says that calls of other functions that share an implementation are counted too, or that some
// implementations cannot be probed.
func (m *image) called(fns []function) (code []function, note string, err error) {
	var all found
	var names, vdso, unknown []string
	indirect := 0
	for _, fn := range fns {
		if !fn.indirect {
			all.add(fn)
			continue
		}
		indirect++
		c := m.choices(fn)
		if len(c.code) == 0 {
			unknown = append(unknown, fn.name)
		}
		for _, impl := range c.code {
			names = append(names, impl.name)
			impl.chosen = fn.name
			all.add(impl)
		}
		if c.vdso != "" {
			vdso = append(vdso, c.vdso)
		}
	}
	if indirect == 0 {
		return all.list, "", nil
	}
	if len(unknown) == len(fns) {
		return nil, "", errNoChoice
	}
	slices.Sort(names)
	names = slices.Compact(names)
	note = fmt.Sprintf("indirect function, probed in the implementations that its resolver can choose: %s",
		strings.Join(names, ", "))
	if others := m.sharing(fns, all.list); len(others) > 0 {
		note += fmt.Sprintf("; calls of %s are counted too, which share them", strings.Join(others, ", "))
	}
	if len(vdso) > 0 {
		note += fmt.Sprintf("; calls are not counted where %s of the vDSO is chosen, which cannot be probed",
			strings.Join(slices.Compact(vdso), ", "))
	}
	if len(unknown) > 0 {
		note += fmt.Sprintf("; not counted are calls of %s, of which the implementations are not known",
			strings.Join(slices.Compact(unknown), ", "))
	}
	return all.list, note, nil
}

// sharing lists other indirect functions that can have one of these
// implementations.
func (m *image) sharing(fns, code []function) (names []string) {
	known := map[uint64]bool{}
	for _, fn := range fns {
		known[fn.addr] = true
	}
	for _, other := range m.functions() {
		if !other.indirect || known[other.addr] {
			continue
		}
		known[other.addr] = true
		for _, impl := range m.choices(other).code {
			if slices.ContainsFunc(code, func(f function) bool { return f.addr == impl.addr }) {
				names = append(names, other.name)
				break
			}
		}
	}
	return names
}
