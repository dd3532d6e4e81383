// Package assembler writes programs of the kernel instruction by instruction: jumps to
// labels, places of the stack and of scratch memory, accesses to maps, and the checks of the target that
// every program begins with.
package assembler
