package relay

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// This file is how call stacks travel.
//
// Addresses mean nothing to a receiver: it has neither the kernel's symbols nor
// the files and mappings of the sender's processes, which may have ended since.
// So functions travel by name, as the sender resolved them when the event came;
// code without a name travels as address, file and offset in it.
//
// A sample has the number of its stack where perf has the stream id, 8 bytes;
// events that were opened without stacks have nothing. A number is defined
// before its first use, in EVENT_UPDATE records of a kind of our own: a reader
// that does not know it (perf, versions of ppscript without stacks) skips it,
// and has the events without their stacks. The records have these definitions,
// numbered by their order, each kind from 1:
//
//	text   a name: of a function, a file, a build-id
//	place  an address: the context it is in, and its functions, innermost first
//	stack  places, innermost first
//	begin  a number: an epoch begins, in which nothing is defined
//
// Equal ones are defined once in an epoch. When an epoch's definitions reach
// their bound, the next begins, so that neither side grows. The number of a
// stack says its epoch, and is never used again: samples that wait for their
// order keep their meaning. The tempting way, addresses in samples and names for
// addresses, needs the order of names and samples, which a process that ends
// and another with its number would break.
//
// Each receiver has a place in the definitions of the epoch up to which it got
// them. Events bring those behind it. Thus a receiver that comes later gets the
// definitions that it missed, and one that was too slow for some events misses
// no definition of others.

// stackKind is the kind of our EVENT_UPDATE records; its last byte is the
// version of their content.
const (
	stackKind    = 'p' | 'p'<<8 | 's'<<16 | 't'<<24 | 'a'<<32 | 'c'<<40 | 'k'<<48
	stackVersion = 1
	kindVersion  = 56 // where in the kind it is, in bits
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

// Bounds that both sides keep: of a name, and of the numbers in a definition.
const (
	maxText   = 8 << 10
	maxFrames = 256
	maxPlaces = 8 << 10
)

// A World is where an address is.
type World uint8

const (
	Elsewhere World = iota // in a guest, a hypervisor
	InKernel
	InUser
)

// A Function is one of those at an address: the inlined ones, and the one
// that contains them.
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

// numberIn is the number of stack n of an epoch, from 1.
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
