package hook

import (
	"runtime"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/system/kernel"
)

// This file recognizes the tracepoints of system calls, and lets one program handle the events of
// many calls: each event of syscalls:sys_enter_NAME is also a hit of raw_syscalls:sys_enter with
// the number of the call, and both records have the arguments at the same offsets. The kernel makes
// no event of syscalls:sys_enter_NAME for a 32-bit call.

const callSystem, enters, exits = "syscalls", "sys_enter_", "sys_exit_"

// BeginsCall reports that the event is the begin of a system call. Its missing texts can be read
// at the end of the call.
func BeginsCall(s *event.Schema) bool {
	return s.FullName() == "raw_syscalls:sys_enter" ||
		s.System == callSystem && strings.HasPrefix(s.Name, enters)
}

// EndsCall reports that the event is the end of a system call.
func EndsCall(s *event.Schema) bool {
	return s.FullName() == "raw_syscalls:sys_exit" ||
		s.System == callSystem && strings.HasPrefix(s.Name, exits)
}

// CallOf is the number of the system call of an event; exit says that the event is the end of the
// call. ok is false for other events, and for calls whose number is not known.
func CallOf(e *Event) (number int64, exit, ok bool) {
	if e.Sampled || e.Probe != nil || e.Schema.System != callSystem {
		return 0, false, false
	}
	name, begins := strings.CutPrefix(e.Schema.Name, enters)
	if !begins {
		if name, exit = strings.CutPrefix(e.Schema.Name, exits); !exit {
			return 0, false, false
		}
	}
	number, ok = kernel.SyscallNumber(runtime.GOARCH, kernel.SyscallOfEvent(name))
	return number, exit, ok
}

// callNumber is the number of the call in records of raw_syscalls.
var callNumber = &event.Field{Name: "id", Kind: event.Int, Place: event.InRaw,
	Offset: 8, Size: 8, Signed: true}

// CallNumber reads callNumber.
var CallNumber expr.Node = &expr.Field{F: callNumber}

// AllCalls turns e, an event of one system call, into the same event of all system calls.
func AllCalls(e *Event, host *features.Host) (*Event, bool) {
	_, exit, _ := CallOf(e)
	name := "sys_enter"
	if exit {
		name = "sys_exit"
	}
	id, ok := host.Event("raw_syscalls", name)
	all := *e
	all.Schema = &event.Schema{System: "raw_syscalls", Name: name, Type: e.Schema.Type, ID: id,
		Size: e.Schema.Size, Fields: append(slices.Clone(e.Schema.Fields), *callNumber)}
	return &all, ok
}

// FindCall stores at Place the call of the event among the calls that the program handles, encoded
// by load.Cookie. It jumps to exit for events of other calls.
func (h *Hook) FindCall(exit assembler.Label) {
	c := h.Code
	info, status, ok := h.Host.Status()
	if !ok {
		assembler.Refuse("programs cannot tell system calls of 32 bits")
	}
	at := c.Alloc(8)
	if h.Raw != nil {
		h.RawField(asm.R0, callNumber)
	} else {
		h.Record(asm.R0, callNumber.Offset, callNumber.Size, true)
	}
	c.Store(at, asm.R0)
	c.Get(load.CallsMap.Of(h.Index), at, exit)
	c.Emit(asm.LoadMem(asm.R0, asm.R0, 0, asm.DWord))
	c.IfImm(asm.JEq, asm.R0, 0, exit)
	c.Emit(asm.Sub.Imm(asm.R0, 1))
	c.Store(at, asm.R0)
	c.Call(asm.FnGetCurrentTaskBtf)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(info+status), asm.Word), asm.And.Imm(asm.R1, compatStatus))
	c.IfImm(asm.JNE, asm.R1, 0, exit)
	h.Place = at
}

// CallsMap is the map that FindCall reads, by the number of the call: load.Cookie plus 1, or 0 for
// a call that the program does not handle. events are the indices of the calls' events.
func CallsMap(events []int, calls []int64) *ebpf.MapSpec {
	spec := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8,
		MaxEntries: uint32(slices.Max(calls) + 1)}
	for place, number := range calls {
		spec.Contents = append(spec.Contents,
			ebpf.MapKV{Key: uint32(number), Value: load.Cookie(place, events[place]) + 1})
	}
	return spec
}
