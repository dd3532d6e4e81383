package perf

import (
	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file decodes the records about kernel code and cgroups. Their events
// have Kind Other.

// A Cgroup is a new cgroup.
type Cgroup struct {
	ID   uint64
	Path string
}

// A Ksymbol is a piece of kernel code that was added or removed: a BPF program,
// a trampoline.
type Ksymbol struct {
	Addr       uint64
	Len        uint32
	Type       uint16 // PERF_RECORD_KSYMBOL_TYPE_*
	Unregister bool
	Name       string
}

// A BPFEvent is the loading or unloading of a BPF program.
type BPFEvent struct {
	Type  uint16 // 1 load, 2 unload
	Flags uint16
	ID    uint32
	Tag   [8]byte
}

// A TextPoke is a change of the kernel's code while it runs: a patched jump, a
// trampoline. Old is empty for new code.
type TextPoke struct {
	Addr     uint64
	Old, New []byte
}

// DecodeCgroup reads a CGROUP record.
func DecodeCgroup(e *event.Event) (Cgroup, bool) {
	_, _, b, ok := bodyOf(e, 8, unix.PERF_RECORD_CGROUP)
	if !ok {
		return Cgroup{}, false
	}
	return Cgroup{ID: le64(b, 0), Path: cstring(b[8:])}, true
}

// DecodeKsymbol reads a KSYMBOL record.
func DecodeKsymbol(e *event.Event) (Ksymbol, bool) {
	_, _, b, ok := bodyOf(e, 16, unix.PERF_RECORD_KSYMBOL)
	if !ok {
		return Ksymbol{}, false
	}
	tf := le32(b, 12)
	return Ksymbol{
		Addr:       le64(b, 0),
		Len:        le32(b, 8),
		Type:       uint16(tf),
		Unregister: tf>>16&unix.PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER != 0,
		Name:       cstring(b[16:]),
	}, true
}

// DecodeBPF reads a BPF_EVENT record.
func DecodeBPF(e *event.Event) (BPFEvent, bool) {
	_, _, b, ok := bodyOf(e, 16, unix.PERF_RECORD_BPF_EVENT)
	if !ok {
		return BPFEvent{}, false
	}
	tf := le32(b, 0)
	return BPFEvent{Type: uint16(tf), Flags: uint16(tf >> 16), ID: le32(b, 4), Tag: [8]byte(b[8:16])}, true
}

// DecodeTextPoke reads a TEXT_POKE record; the bytes are a view of it.
func DecodeTextPoke(e *event.Event) (TextPoke, bool) {
	_, _, b, ok := bodyOf(e, 12, unix.PERF_RECORD_TEXT_POKE)
	if !ok {
		return TextPoke{}, false
	}
	was, is := int(le32(b, 8)&0xffff), int(le32(b, 8)>>16)
	bytes := b[12:]
	if was+is > len(bytes) {
		return TextPoke{}, false
	}
	return TextPoke{Addr: le64(b, 0), Old: bytes[:was], New: bytes[was : was+is]}, true
}
