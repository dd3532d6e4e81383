package interpreted

import (
	_ "embed"
	"unsafe"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
)

// This file has the program, which walker.c is in C, and its constants. A test compiles it again.

//go:embed walker.o
var walkerObject []byte

var routines = assembler.NewObject(walkerObject)

// Bounds: the frames of a stack, and the threads of a process that are looked through for the running one.
const (
	maxFrames  = 64
	maxThreads = 96
)

// The layout of a stack's memory in a program, in bytes: the stack, which is stored, comes first.
const (
	stackCount = 8  // frames
	stackCut   = 16 // 1 if there are more
	stackAt    = 24 // frames
	frameSize  = 24 // code object, place in its code and flags, check
	stackSize  = stackAt + maxFrames*frameSize
	frameRoom  = 128 // for an interpreter's frame, as read; a power of two
	memorySize = stackSize + frameRoom + 48
	configSize = int(unsafe.Sizeof(Config{}))
	sampleSize = 32
)

// Starts say how the innermost frame of the running thread is found.
const (
	ThreadStart = iota // Head leads to the list of interpreters, each with its threads
	WordStart          // Head is the address of the main thread's frame; others run nothing
)

// Entries say how it is told which frames the interpreter was called for from C, so that frames
// between two of them belong to one call.
const (
	EachEntry    = iota // every frame
	OwnerEntry          // those whose owner's byte is not 0
	FramesEntry         // frames of their own, with an owner from 3 on, that run no code
	BitsEntry           // those whose owner has a bit of Mask
	PointerEntry        // those whose owner points to a word with a bit of Mask
)

// IsEntry is the flag of a place in code of a frame that was called from C.
const IsEntry = 1 << 63

// hashFactor is the multiplier (the prime) of FNV's 64-bit hash.
const hashFactor = 1099511628211

// Maps of the program.
const (
	configMap = "config"
	memoryMap = "memory"
	stacksMap = "stacks"
	ringMap   = "ring"
	freshMap  = "fresh" // stacks that were kept since these were asked for: the process, by hash
	foundMap  = "found" // of the program that is called in turn: the hash of the sample at hand
	nextMap   = "next"  // that program
)

// register finds where a task has the register that its thread's own memory is found by.
func register(host *features.Host) (int32, bool) {
	at, ok := host.Member("task_struct", "thread")
	in, ok2 := host.Member("thread_struct", "fsbase")
	return int32(at + in), ok && ok2
}
