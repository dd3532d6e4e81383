package interpreted

import (
	_ "embed"
	"unsafe"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
)

// This file has the program, compiled from walker.c, and its constants. A test compiles it again
// and compares.

//go:embed walker.o
var walkerObject []byte

var routines = assembler.NewObject(walkerObject)

// Bounds: the frames of a stack, and the threads that are searched for the running one.
const (
	maxFrames  = 64
	maxThreads = 96
)

// The layout of a stack's memory in a program, in bytes: first the stack itself, which is stored.
const (
	stackCount = 8  // frames
	stackCut   = 16 // 1 if there are more
	stackAt    = 24 // frames
	frameSize  = 24 // code object, place in its code and flags, check
	stackSize  = stackAt + maxFrames*frameSize
	frameRoom  = 128 // room for an interpreter's frame as it is read; a power of two
	memorySize = stackSize + frameRoom + 48
	configSize = int(unsafe.Sizeof(Config{}))
	sampleSize = 32
)

// Values of Search.Start: how to find the innermost frame of the running
// thread.
const (
	ThreadStart = iota // Head leads to the list of interpreters, each with its threads
	WordStart          // Head is where the pointer to the main thread's frame is; others run no code
)

// Values of Frames.Entry: how to recognize the frames with which C called the interpreter. The
// frames between two of them belong to one call.
const (
	EachEntry    = iota // every frame
	OwnerEntry          // frames whose owner byte is not 0
	FramesEntry         // extra frames with an owner byte of 3 or more, which run no code
	BitsEntry           // frames whose owner has a bit of Mask
	PointerEntry        // frames whose owner points to a word with a bit of Mask
)

// IsEntry is the flag in Frame.Instr of a frame that was called from C.
const IsEntry = 1 << 63

// hashFactor is the multiplier (the prime) of FNV's 64-bit hash.
const hashFactor = 1099511628211

// Maps of the program.
const (
	configMap = "config"
	memoryMap = "memory"
	stacksMap = "stacks"
	ringMap   = "ring"
	freshMap  = "fresh" // stacks that are new since the last call of Fresh: the process, by hash
	foundMap  = "found" // map of the next program: the hash of the stack of the sample at hand
	nextMap   = "next"  // the next program
)

// register finds the offset in a task of the register that points to its thread's own
// memory.
func register(host *features.Host) (int32, bool) {
	at, ok := host.Member("task_struct", "thread")
	in, ok2 := host.Member("thread_struct", "fsbase")
	return int32(at + in), ok && ok2
}
