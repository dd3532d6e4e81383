package probe

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// This file finds instructions in functions: the instructions that return,
// since the kernel's return probes kill Go programs, and whether an instruction
// begins at an offset.
//
// A return probe replaces the return address on the stack. But Go moves stacks
// in memory, and goroutines between threads. Then the kernel finds a return
// without a matching call, and kills the process. Probes on every RET of the
// function observe the same moment without changing the stack.

// Returns of arm64: RET Xn, and its forms with pointer authentication.
const (
	arm64RetMask, arm64Ret     = 0xfffffc1f, 0xd65f0000
	arm64RetAA, arm64RetAB     = 0xd65f0bff, 0xd65f0fff
	arm64InstructionSize       = 4
	x86MaxInstruction          = 15
	maxReturns                 = 1000 // of one function
	x86Invalid                 = 1    // bytes to skip where decoding fails: padding, data
	endbr64                int = 0xfa1e0ff3
)

// returnOffsets lists the offsets of the return instructions in code.
func returnOffsets(m elf.Machine, code []byte) ([]uint64, error) {
	var offs []uint64
	err := walkCode(m, code, func(off int, ret bool) bool {
		if ret {
			offs = append(offs, uint64(off))
		}
		return len(offs) <= maxReturns
	})
	if err == nil && len(offs) > maxReturns {
		err = fmt.Errorf("more than %d return instructions", maxReturns)
	}
	return offs, err
}

// isBoundary reports whether an instruction starts at off; before is the start
// of the instruction that contains off.
func isBoundary(m elf.Machine, code []byte, off uint64) (before uint64, ok bool, err error) {
	err = walkCode(m, code, func(at int, _ bool) bool {
		if uint64(at) <= off {
			before = uint64(at)
		}
		return uint64(at) < off
	})
	return before, before == off, err
}

// walkCode calls fn for each instruction until it returns false.
func walkCode(m elf.Machine, code []byte, fn func(off int, ret bool) bool) error {
	switch m {
	case elf.EM_X86_64:
		for off := 0; off < len(code); {
			size, ret := x86Invalid, false
			if len(code)-off >= 4 && int(binary.LittleEndian.Uint32(code[off:])) == endbr64 {
				size = 4 // the decoder lacks it
			} else if inst, err := x86asm.Decode(code[off:min(len(code), off+x86MaxInstruction)], 64); err ==
				nil && inst.Len > 0 {
				size, ret = inst.Len, inst.Op == x86asm.RET
			}
			if !fn(off, ret) {
				return nil
			}
			off += size
		}
		return nil
	case elf.EM_AARCH64:
		for off := 0; off+arm64InstructionSize <= len(code); off += arm64InstructionSize {
			w := binary.LittleEndian.Uint32(code[off:])
			ret := w&arm64RetMask == arm64Ret || w == arm64RetAA || w == arm64RetAB
			if !fn(off, ret) {
				return nil
			}
		}
		return nil
	}
	return fmt.Errorf("instructions of %s are not known here", m)
}
