package relay

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// This file describes how call stacks are sent.
//
// A receiver cannot resolve addresses: it has neither the kernel's symbols nor
// the files and mappings of the sender's processes, which may have ended. So
// functions are sent by name; the sender resolves them when the event arrives.
// Code without a name is sent as address, file and offset in the file.
//
// A sample has the number of its stack, 8 bytes, in place of perf's stream id;
// events that were opened without stacks have no such member. A number is
// defined before its first use, in EVENT_UPDATE records of a special kind.
// Readers that lack this kind (perf, older versions of ppscript) skip these
// records and read the events without stacks. The records have the following
// definitions, each kind numbered in order from 1:
//
//	text   a name: of a function, a file, a build-id
//	place  an address: the context it is in, and its functions, innermost first
//	stack  places, innermost first
//	begin  a number: an epoch begins, in which nothing is defined
//
// Equal definitions are sent once in an epoch. When an epoch's definitions reach
// their bound, the next epoch begins, so that the memory of both sides is
// bounded. The number of a stack contains its epoch and is never reused, so
// samples that wait to be sorted stay valid. The tempting alternative, to send
// addresses in samples and names for addresses, depends on the order of names
// and samples. It would fail if a process ends and another one gets its number.
//
// For each receiver, the sender keeps the position up to which it has sent the
// epoch's definitions, and sends the rest before the next events. So a receiver
// that connects later gets the definitions that it missed, and a receiver that
// lost some events has all definitions for the others.

// stackKind is the kind of the EVENT_UPDATE records with definitions; its last
// byte is the version of their content.
const (
	stackKind    = 'p' | 'p'<<8 | 's'<<16 | 't'<<24 | 'a'<<32 | 'c'<<40 | 'k'<<48
	stackVersion = 1
	kindVersion  = 56 // position of the version in the kind, in bits
)

// recEventUpdate is PERF_RECORD_EVENT_UPDATE of perf.
const recEventUpdate = 78

// Kinds of definitions. Zeros follow the last one in a record.
const (
	defEnd   = iota
	defText  // length, bytes
	defPlace // context, address, count; for each: text, offset, file, build-id, source, line, flags
	defStack // flags, count, places
	defBegin // epoch
)

// Flags of stacks and of functions.
const (
	flagCut     = 1
	flagUnwound = 2
	flagInline  = 1
	flagKernel  = 2
)

// Bounds that both sides check: the bytes of a name, and the counts in a
// definition.
const (
	maxText   = 8 << 10
	maxFrames = 256
	maxPlaces = 8 << 10
)

// A World is the context of an address: kernel, user code, or another.
type World uint8

const (
	Elsewhere World = iota // in a guest, a hypervisor
	InKernel
	InUser
)

// A Function is a function at an address: an inlined function, or the function
// that contains it.
type Function struct {
	Name           string // "" if unknown
	Offset         uint64 // from the start of the function; of the file if unknown
	File           string
	BuildID        string
	Source         string
	Line           int
	Inline, Kernel bool
}

// A Place is an address of a stack.
type Place struct {
	In        World
	Addr      uint64
	Functions []Function // innermost first
}

// A Stack is the stack of a sample.
type Stack struct {
	Places       []*Place // innermost first
	Cut, Unwound bool
}

// numberIn returns the number of stack n of an epoch; n begins with 1.
func numberIn(epoch uint32, n int) uint64 { return uint64(epoch)<<32 | uint64(uint32(n)) }

// appendUpdate appends an EVENT_UPDATE record with definitions of the event id.
func appendUpdate(b []byte, id uint64, defs []byte) []byte {
	pad := -len(defs) & 7
	b = appendHeader(b, recEventUpdate, recHeader+16+len(defs)+pad)
	b = le.AppendUint64(b, stackKind|stackVersion<<kindVersion)
	b = le.AppendUint64(b, id)
	return append(append(b, defs...), make([]byte, pad)...)
}

func appendNumbers(b []byte, ns ...uint64) []byte {
	for _, n := range ns {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

const stackMember = unix.PERF_SAMPLE_STREAM_ID
