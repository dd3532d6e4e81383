package probe

import (
	"bytes"
	"debug/elf"
)

// This file finds the instruction at which calls of a Go function are probed. Most Go
// functions begin by comparing the stack pointer with the end of the goroutine's stack:
//
//	cmp  0x10(%r14),%rsp      or lea -N(%rsp),%r12; cmp 0x10(%r14),%r12
//	jbe  grow                 grow: ... call runtime.morestack; jmp the start
//	push %rbp
//
// At a probe on the comparison, the kernel executes a copy of it elsewhere, and needs a second
// trap after it. It emulates the jump and the push with a single trap, so that a hit there
// costs half or less. The registers and the stack are the same as at the start. A call that
// grows its stack passes the start twice, but the push only once.

// goEntry returns the offset of the instruction to probe for calls of a Go function with this
// code; 0 if the code does not begin as above.
func goEntry(m elf.Machine, code []byte) uint64 {
	if m != elf.EM_X86_64 {
		return 0
	}
	rest := code
	if lea, small := bytes.CutPrefix(rest, []byte{0x4c, 0x8d, 0x64, 0x24}); small && len(lea) > 1 {
		rest = lea[1:]
	} else if lea, large := bytes.CutPrefix(rest, []byte{0x4c, 0x8d, 0xa4, 0x24}); large && len(lea) > 4 {
		rest = lea[4:]
	}
	compare := []byte{0x49, 0x3b, 0x66, 0x10}
	if len(rest) < len(code) {
		compare[0] = 0x4d // r12, not rsp
	}
	jump, ok := bytes.CutPrefix(rest, compare)
	if !ok {
		return 0
	}
	behind := jump
	switch {
	case len(jump) > 2 && jump[0] == 0x76:
		behind = jump[2:]
	case len(jump) > 6 && jump[0] == 0x0f && jump[1] == 0x86:
		behind = jump[6:]
	default:
		return 0
	}
	if behind[0] == 0x55 {
		return uint64(len(code) - len(behind))
	}
	return uint64(len(code) - len(jump))
}

// entry returns the address at which calls of a place are probed: the place itself, unless it
// is the start of a Go function that the user named.
func (s *Spec) entry(m *image, p place) uint64 {
	_, numeric := parseAddress(trimPlus(s.Name))
	if s.Kind != Uprobe || numeric || p.line || p.addr != p.fn.addr || !m.Go() || !p.fn.compiledByGo() {
		return p.addr
	}
	code, err := m.code(p.fn)
	if err != nil {
		return p.addr
	}
	return p.addr + goEntry(m.Machine, code)
}
