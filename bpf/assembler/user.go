package assembler

import (
	"strconv"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/latetext"
)

// ReadUser reads the text at the address in R3 to R1, which is base plus off:
// up to its end, or a word instead of it. R0 is how many bytes it has, with its
// NUL.
func (c *Code) ReadUser(base asm.Register, off int16) {
	mark := c.Stack
	c.Emit(latetext.Read(base, off, c.Alloc(16), c.Name())...)
	c.Stack = mark
}

// Name is a name that no other place of the program has.
func (c *Code) Name() string { return "at_" + strconv.Itoa(len(c.ins)) }
