package assembler

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// This file has routines: functions that are written in C (kernel.h) and compiled when they change.
// Programs call them, and the kernel's helpers call some back, such as the body of a loop: the
// verifier checks it once and not for each turn.
//
// The verifier checks a routine for each call with the registers of the caller: it keeps the size
// of memory that is passed, and the value of a constant. So a routine needs no types of its own.
// The only relocations of its object are calls, maps, and numbers that are given when it is loaded.
//
// A program and the routines that it calls share the 512 bytes of stack.

// An Object holds compiled routines.
type Object struct {
	routines func() map[string]asm.Instructions // by name; each is followed by the routines that it calls
}

// NewObject is the object in an ELF file, which is decoded when a routine is
// first used.
func NewObject(file []byte) *Object {
	return &Object{sync.OnceValue(func() map[string]asm.Instructions {
		spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(file))
		if err != nil {
			panic("BUG: routines that cannot be read: " + err.Error())
		}
		list := map[string]asm.Instructions{}
		for name, p := range spec.Programs {
			list[name] = p.Instructions
		}
		return list
	})}
}

// Program is a routine as a program of its own. An undefined symbol is a number of given, or else a
// map.
func (o *Object) Program(name string, given map[string]int64) asm.Instructions {
	ins := slices.Clone(o.routines()[name])
	if ins == nil {
		panic("BUG: no routine " + name)
	}
	defined := map[string]bool{}
	for i := range ins {
		defined[ins[i].Symbol()] = true
	}
	for i := range ins {
		in := &ins[i]
		symbol := in.Reference()
		if v, ok := given[symbol]; ok && symbol != "" {
			*in = in.WithReference("")
			in.Constant = v
		} else if symbol != "" && !defined[symbol] {
			in.Src = asm.PseudoMapFD
		}
	}
	return ins
}

// callList holds the routines that a program calls.
type callList struct {
	code  map[string]asm.Instructions // by name
	stack int                         // bytes of stack that the deepest chain of calls uses
	back  bool                        // helpers call some of them back: the kernel requires types then
}

// use adds a routine, and the routines that it calls, to the program.
func (c *Code) use(o *Object, name string) {
	ins := o.Program(name, nil)
	depth := 0
	if c.called.code == nil {
		c.called.code = map[string]asm.Instructions{}
	}
	for begin := 0; begin < len(ins); {
		end := begin + 1
		for end < len(ins) && ins[end].Symbol() == "" {
			end++
		}
		c.called.code[ins[begin].Symbol()] = ins[begin:end]
		depth += frameSize(stackOf(ins[begin:end]))
		begin = end
	}
	c.called.stack = max(c.called.stack, depth)
}

// Routine calls a routine of an object with the arguments R1 to R5, which are
// overwritten; R0 is its result.
func (c *Code) Routine(o *Object, name string) {
	if c.dead {
		return
	}
	c.use(o, name)
	call := asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoCall,
		Constant: -1}
	c.Emit(call.WithReference(name))
}

// Repeat calls a routine until it returns 1, at most so many times. Its arguments are the number of
// the turn and the address of the place context. Repeat overwrites R0 to R5.
func (c *Code) Repeat(o *Object, name string, most int, context int16) {
	if c.dead {
		return
	}
	c.use(o, name)
	c.called.back = true
	address := asm.LoadImm(asm.R2, 0, asm.DWord)
	address.Src, address.Constant = asm.PseudoFunc, -1
	c.Emit(asm.Mov.Imm(asm.R1, int32(most)), address.WithReference(name))
	c.Addr(asm.R3, context)
	c.Emit(asm.Mov.Imm(asm.R4, 0))
	c.Call(asm.FnLoop)
}

// frameSize is the size that the verifier counts for a frame, in bytes.
func frameSize(stack int) int { return (max(stack, 1) + 31) &^ 31 }

// stackOf is the number of bytes of stack that a routine uses.
func stackOf(ins asm.Instructions) (n int) {
	frame := map[asm.Register]bool{asm.R10: true} // registers that point to the end of the stack
	for i := range ins {
		in := &ins[i]
		switch class := in.OpCode.Class(); {
		case class.IsLoad() && in.Src == asm.R10, class.IsStore() && in.Dst == asm.R10:
			n = max(n, -int(in.Offset))
		case class.IsALU() && in.OpCode.ALUOp() == asm.Mov:
			frame[in.Dst] = in.OpCode.Source() == asm.RegSource && in.Src == asm.R10
		case class.IsALU() && in.OpCode.ALUOp() == asm.Add && in.OpCode.Source() == asm.ImmSource &&
			frame[in.Dst]:
			n = max(n, -int(in.Constant))
		}
	}
	return n
}

// withRoutines is the finished program with the routines that it calls.
func withRoutines(c *Code, ins asm.Instructions) asm.Instructions {
	if c.called.code == nil {
		return ins
	}
	names := slices.Sorted(maps.Keys(c.called.code))
	if c.called.back {
		ins[0] = typed(ins[0].WithSymbol("program"), btf.GlobalFunc)
	}
	for _, name := range names {
		at := len(ins)
		ins = append(ins, c.called.code[name]...)
		if c.called.back {
			ins[at] = typed(ins[at], btf.StaticFunc)
		}
	}
	return ins
}

// checkStack refuses a program whose frame does not fit the stack together with the frames of its
// routines.
func (c *Code) checkStack() {
	if c.called.stack > 0 && frameSize(c.peak.stack)+c.called.stack > stackSize {
		refuseStack("needs more than the %d bytes of stack that what it calls leaves",
			stackSize-c.called.stack)
	}
}

// typed gives a function a type. For a static function the verifier requires one when a helper
// calls it back, but follows the registers, not the type.
func typed(first asm.Instruction, linkage btf.FuncLinkage) asm.Instruction {
	t := &btf.FuncProto{
		Return: &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed},
		Params: []btf.FuncParam{{Name: "context", Type: &btf.Pointer{Target: &btf.Void{}}}},
	}
	return btf.WithFuncMetadata(first, &btf.Func{Name: first.Symbol(), Type: t, Linkage: linkage})
}
