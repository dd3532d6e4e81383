package listing

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"ppscript/runtime/stack/symbol"
)

// An instruction is an instruction of a function.
type instruction struct {
	addr uint64
	size int
	text string // in the form of the GNU assembler
}

// disassemble returns the instructions of a function. A byte that cannot be decoded
// counts as one instruction.
func disassemble(c *symbol.Code) []instruction {
	var list []instruction
	for at := 0; at < len(c.Bytes); {
		size, text := decode(c, c.Bytes[at:], c.Addr+uint64(at))
		list = append(list, instruction{addr: c.Addr + uint64(at), size: size, text: text})
		at += size
	}
	return list
}

// decode returns the size and the text of the first instruction in b.
func decode(c *symbol.Code, b []byte, addr uint64) (size int, text string) {
	switch c.Machine {
	case elf.EM_X86_64, elf.EM_386:
		mode := 64
		if c.Machine == elf.EM_386 {
			mode = 32
		}
		if size, text := shadow(b); size > 0 {
			return size, text
		}
		inst, err := x86asm.Decode(b, mode)
		if err != nil || inst.Len == 0 {
			return 1, bad(b[:1])
		}
		text := tidy(x86asm.GNUSyntax(inst, addr, nil))
		if rel, ok := inst.Args[0].(x86asm.Rel); ok {
			text += leads(c, addr+uint64(inst.Len)+uint64(int64(rel)))
		}
		return inst.Len, text
	case elf.EM_AARCH64:
		if len(b) < 4 {
			return len(b), bad(b)
		}
		inst, err := arm64asm.Decode(b)
		if err != nil {
			return 4, bad(b[:4])
		}
		return 4, target(c, inst, addr, arm64asm.GNUSyntax(inst))
	}
	n := min(4, len(b))
	return n, bad(b[:n])
}

// shadow decodes instructions that the library takes for a prefix: the marks at the
// targets of jumps.
func shadow(b []byte) (size int, text string) {
	switch {
	case bytes.HasPrefix(b, []byte{0xf3, 0x0f, 0x1e, 0xfa}):
		return 4, "endbr64"
	case bytes.HasPrefix(b, []byte{0xf3, 0x0f, 0x1e, 0xfb}):
		return 4, "endbr32"
	}
	return 0, ""
}

func bad(b []byte) string { return fmt.Sprintf(".byte %# x", b) }

// tidy puts one blank after the name of an instruction.
func tidy(text string) string { return strings.Join(strings.Fields(text), " ") }

// target returns the target of a branch.
func target(c *symbol.Code, inst arm64asm.Inst, addr uint64, text string) string {
	for _, arg := range inst.Args {
		if rel, ok := arg.(arm64asm.PCRel); ok && (inst.Op == arm64asm.B || inst.Op == arm64asm.BL) {
			to := addr + uint64(int64(rel))
			return fmt.Sprintf("%s %#x", strings.ToLower(inst.Op.String()), to) + leads(c, to)
		}
	}
	return text
}

// leads names the function to which an instruction branches, if it is another
// one.
func leads(c *symbol.Code, to uint64) string {
	if to >= c.Addr && to-c.Addr < uint64(len(c.Bytes)) {
		return ""
	}
	name, start := c.Name(to)
	switch {
	case name == "":
		return ""
	case to == start:
		return " <" + name + ">"
	}
	return fmt.Sprintf(" <%s+%#x>", name, to-start)
}
