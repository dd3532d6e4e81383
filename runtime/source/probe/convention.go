package probe

import (
	"debug/elf"
	"fmt"
	"runtime"

	"ppscript/runtime/event"
)

// This file knows where functions find their arguments. The numbers are the
// kernel's: enum perf_event_x86_regs and enum perf_event_arm_regs.

// A convention names the registers of the arguments when a function is
// entered, and of the result when it has returned.
type convention struct {
	args []uint8 // integers and pointers, in order
	rets []uint8
	g    int // the register of Go's current goroutine, -1 if none
	// dwarf is the registers in the order of debug information; nil if that is the kernel's.
	dwarf []uint8
}

// Stack pointers and frame pointers, whose surroundings are on the sampled
// part of the stack.
const (
	amd64BP, amd64SP, amd64IP = 6, 7, 8
	arm64FP, arm64SP, arm64PC = 29, 31, 32
)

// dwarfAMD64 is DWARF's order, ax dx cx bx si di bp sp r8 to r15, as the kernel counts.
var dwarfAMD64 = []uint8{0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}

var (
	// di si dx cx r8 r9; ax dx
	sysV = convention{args: []uint8{5, 4, 3, 2, 16, 17}, rets: []uint8{0, 3}, g: -1, dwarf: dwarfAMD64}
	// The internal ABI of Go, of all compiled functions since 1.17, cmd/compile/abi-internal.md.
	goAMD64 = convention{
		args: []uint8{0, 1, 2, 5, 4, 16, 17, 18, 19},
		rets: []uint8{0, 1, 2, 5, 4, 16, 17, 18, 19},
		g:    22, dwarf: dwarfAMD64,
	}
	aapcs64 = convention{args: []uint8{0, 1, 2, 3, 4, 5, 6, 7}, rets: []uint8{0, 1}, g: -1}
	goARM64 = convention{
		args: []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8}, rets: []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8}, g: 28,
	}
)

// conventionOf is nil where arguments are not known: code of 32 bits, other
// machines.
func conventionOf(m elf.Machine, isGo bool) *convention {
	switch {
	case m == elf.EM_X86_64 && isGo:
		return &goAMD64
	case m == elf.EM_X86_64:
		return &sysV
	case m == elf.EM_AARCH64 && isGo:
		return &goARM64
	case m == elf.EM_AARCH64:
		return &aapcs64
	}
	return nil
}

// ofDWARF is the register of a number of debug information, if it is one for numbers and addresses.
func (c *convention) ofDWARF(n int) (uint8, bool) {
	switch {
	case n < 0:
		return 0, false
	case c.dwarf == nil:
		return uint8(n), n <= arm64SP
	case n < len(c.dwarf):
		return c.dwarf[n], true
	}
	return 0, false
}

// hostMachine is the machine of the running kernel.
func hostMachine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// argName is the field of the register of an argument, by its number from 0.
func argName(i int) string { return fmt.Sprintf("arg%d", i+1) }

// entry and exit name the registers as fields: arg1, arg2, ...; retval, ret2.
func (c *convention) entry(b *builder) {
	if c == nil {
		return
	}
	for i, r := range c.args {
		b.register(argName(i), r)
	}
	c.goroutine(b)
}

func (c *convention) exit(b *builder) {
	if c == nil {
		return
	}
	for i, r := range c.rets {
		name := "retval"
		if i > 0 {
			name = fmt.Sprintf("ret%d", i+1)
		}
		b.register(name, r)
	}
	c.goroutine(b)
}

func (c *convention) goroutine(b *builder) {
	if c.g >= 0 {
		b.add(event.Field{
			Name:   "g",
			Type:   "unsigned long",
			Size:   8,
			Unit:   event.AddressU,
			Member: event.MemberReg + event.Member(c.g),
		})
	}
}
