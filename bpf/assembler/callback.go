package assembler

import (
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// This file has functions that a program's helpers call back, such as the body of a loop that
// the verifier looks at once, and not for each turn. The kernel wants to know the types of such
// functions, and of the program then, too.

// maxCaller is the room of a program's stack that has callbacks: they share the kernel's bound.
const maxCaller = stackSize - maxCallback

// maxCallback is the room of theirs.
const maxCallback = 64

// callbackType is long (*)(u64, void *).
var callbackType = &btf.FuncProto{
	Return: &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed},
	Params: []btf.FuncParam{
		{Name: "turn", Type: &btf.Int{Name: "u64", Size: 8}},
		{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}},
	},
}

var programType = &btf.FuncProto{
	Return: &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed},
	Params: []btf.FuncParam{{Name: "ctx", Type: &btf.Pointer{Target: &btf.Void{}}}},
}

// Repeat calls body at most so often, each time with a new stack and nothing in registers, until
// it returns 1 in R0. body emits the code. R0 to R5 are lost. The name is the body's alone.
func Repeat(c *Code, name string, most int, body func(c *Code)) {
	if c.dead {
		return
	}
	if !c.dry && c.callbacks[name] == nil {
		sub := New()
		body(sub)
		if sub.peak > maxCallback {
			Refuse("a loop needs more than %d bytes of stack", maxCallback)
		}
		ins := sub.Finish()
		ins[0] = btf.WithFuncMetadata(ins[0].WithSymbol(name),
			&btf.Func{Name: name, Type: callbackType, Linkage: btf.StaticFunc})
		if c.callbacks == nil {
			c.callbacks = map[string]asm.Instructions{}
		}
		c.callbacks[name] = ins
	}
	address := asm.LoadImm(asm.R2, 0, asm.DWord)
	address.Src, address.Constant = asm.PseudoFunc, -1
	c.Emit(asm.Mov.Imm(asm.R1, int32(most)), address.WithReference(name), asm.Mov.Imm(asm.R3, 0),
		asm.Mov.Imm(asm.R4, 0))
	c.Call(asm.FnLoop)
}

// withCallbacks is the finished program with the functions that it has called back.
func withCallbacks(c *Code, ins asm.Instructions) asm.Instructions {
	if len(c.callbacks) == 0 {
		return ins
	}
	if c.peak > maxCaller {
		Refuse("needs more than the %d bytes of stack that a program with loops has", maxCaller)
	}
	ins[0] = btf.WithFuncMetadata(ins[0].WithSymbol("program"),
		&btf.Func{Name: "program", Type: programType, Linkage: btf.GlobalFunc})
	for _, body := range c.callbacks {
		ins = append(ins, body...)
	}
	return ins
}
