// Package assembler writes programs of the kernel instruction by instruction: jumps to labels,
// places of the stack and of scratch memory, accesses to maps, and the checks of the target that
// every program begins with. A place is the offset of bytes that a program has reserved: negative
// on the stack, positive in scratch memory. Comments name the registers that code overwrites,
// beside its results.
package assembler
