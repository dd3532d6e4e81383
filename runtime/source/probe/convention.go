package probe

import (
	"debug/elf"
	"fmt"
	"runtime"

	"ppscript/runtime/event"
)

// This file has the registers in which functions receive arguments and return
// results. The numbers of registers are the kernel's: enum perf_event_x86_regs
// and enum perf_event_arm_regs.

// A convention is a calling convention: the registers of the arguments when a
// function is entered, and of the results when it has returned.
type convention struct {
	args []uint8 // integers and pointers, in order
	rets []uint8
	g    int // the register of Go's current goroutine, -1 if none
	// dwarf maps the register numbers of debug information to the kernel's; nil if they are
	// equal.
	dwarf []uint8
}

// Frame pointers, stack pointers and instruction pointers. The memory near the
// first two is in the sampled part of the stack.
const (
	amd64BP, amd64SP, amd64IP = 6, 7, 8
	arm64FP, arm64SP, arm64PC = 29, 31, 32
)

// dwarfAMD64 has the kernel's numbers of ax dx cx bx si di bp sp r8 to r15, which is
// DWARF's order.
var dwarfAMD64 = []uint8{0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23}

var (
	// di si dx cx r8 r9; ax dx
	sysV = convention{args: []uint8{5, 4, 3, 2, 16, 17}, rets: []uint8{0, 3}, g: -1, dwarf: dwarfAMD64}
	// Go's internal ABI, used by all compiled functions since 1.17: cmd/compile/abi-internal.md.
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

// conventionOf returns the convention of a machine's code; nil for 32-bit code
// and other machines.
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

// ofDWARF converts a register number of debug information; false if it is not a general register.
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

// hostMachine returns the machine of the running kernel.
func hostMachine() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// argName returns the name of the field for argument i, counted from 0.
func argName(i int) string { return fmt.Sprintf("arg%d", i+1) }

// entry adds the registers of arguments as fields arg1, arg2, ...; exit adds
// those of results as retval, ret2.
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
