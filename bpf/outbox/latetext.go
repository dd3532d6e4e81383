package outbox

import (
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/record/latetext"
	"ppscript/runtime/record/sent"
)

// This file generates programs for texts of the process that were not in memory when a
// system call began: they read the texts again at its end, and send them to package
// runtime/record/latetext.
//
// A page that no instruction of the process has touched is not in its memory yet,
// such as the page of a constant of a program that has just begun. The call itself
// makes the kernel fetch it, so the text can be read when the call ends. Programs
// cannot wait, and an event cannot be sent then, since records are in the order of
// their times. So the event is sent when the call begins, with a number in place of
// the text. The program stores the number and the address under the thread. Another
// program, at the end of the call, sends the text with the number. The reader of the
// event waits for it.
//
// The text is the memory's content at the end of the call. If another thread, or the call itself,
// has written there meanwhile, the text is wrong; names of files do not change. After a call that
// executed another program the memory of the text is gone.

// textsSize is the size in bytes of the buffer for late texts: room for a
// thousand, which is more than come between two reads of the buffer.
const textsSize = 1 << 19

// mostCalls bounds the calls with missing texts; beyond it the map evicts the oldest.
const mostCalls = 1 << 12

// The offsets in the value of a call with missing texts: its number, which is the
// time on the clock of programs, then the addresses of its texts, 0 for texts that
// are not missing.
const (
	numberAt = 0
	firstAt  = 8
)

// callSize is the size of the value of a call with so many texts.
func callSize(texts int) int { return firstAt + 8*texts }

// noteText follows assembler.ReadText for text i of a record, whose entry is at R8. If the text
// could not be read, it appends the number of the call to it and stores the address in the call's
// value, at the place call. R0 is then the length of the text.
func noteText(call int16, i int, name string) asm.Instructions {
	there, numbered := name+"_there", name+"_numbered"
	return asm.Instructions{
		asm.JNE.Imm(asm.R0, assembler.UserFault, there),
		asm.LoadMem(asm.R1, asm.R8, sent.TextHead, asm.DWord),
		asm.LoadImm(asm.R2, int64(assembler.Word(event.UserTextFault)), asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R2, there),
		asm.LoadMem(asm.R1, asm.R8, 0, asm.DWord),
		asm.StoreMem(asm.R10, call+firstAt+int16(8*i), asm.R1, asm.DWord),
		asm.LoadMem(asm.R0, asm.R10, call+numberAt, asm.DWord),
		asm.JNE.Imm(asm.R0, 0, numbered),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.R10, call+numberAt, asm.R0, asm.DWord),
		asm.StoreMem(asm.R8, sent.TextHead+8, asm.R0, asm.DWord).WithSymbol(numbered),
		asm.Mov.Imm(asm.R0, latetext.Missing),
		assembler.Here(there),
	}
}

// keepCall stores the call's value in the map of the source if texts are missing. task
// is the place of the process and the thread, the key.
func keepCall(call, task int16, source int, name string) asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R0, asm.R10, call+numberAt, asm.DWord),
		asm.JEq.Imm(asm.R0, 0, name),
		counted(),
		asm.Mov.Imm(asm.R2, 1),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
		pointer(load.LateMap.Of(source)),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, int32(task)),
		asm.Mov.Reg(asm.R3, asm.R10),
		asm.Add.Imm(asm.R3, int32(call)),
		asm.Mov.Imm(asm.R4, int32(ebpf.UpdateAny)),
		asm.FnMapUpdateElem.Call(),
		assembler.Here(name),
	}
}

// counted loads into R1 the address of the number of calls in the maps. The
// number may be too large, since evicted calls stay counted.
func counted() asm.Instruction {
	return asm.LoadMapValue(asm.R1, 0, 0).WithReference(load.LateCountMap.Of().String())
}

// pointer loads a map into R1.
func pointer(m load.MapID) asm.Instruction {
	return asm.LoadMapPtr(asm.R1, 0).WithReference(m.String())
}

// A LateCall is an event at the begin of a system call that is sent with texts.
type LateCall struct {
	Source int
	Schema *event.Schema
	Label  string
	Texts  int // at most
}

// LateTexts returns the programs that read missing texts again, and their maps. find returns the
// number of a tracepoint; nil if numbers are not available.
func LateTexts(calls []LateCall, find func(system, name string) (id uint64, ok bool)) (
	programs []load.Program, maps []load.Map) {
	var any []LateCall // events whose calls have no tracepoint of their own at the end
	maps = []load.Map{
		{ID: load.LateCountMap.Of(), Spec: &ebpf.MapSpec{
			Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1,
		}},
		{ID: load.LateTextsMap.Of(), Spec: &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: textsSize}},
	}
	for _, k := range calls {
		maps = append(maps, load.Map{ID: load.LateMap.Of(k.Source), Spec: &ebpf.MapSpec{
			Type: ebpf.LRUHash, KeySize: 8, ValueSize: uint32(callSize(k.Texts)), MaxEntries: mostCalls,
		}})
		call, one := strings.CutPrefix(k.Schema.Name, "sys_enter_")
		var id uint64
		if one = one && find != nil; one {
			id, one = find("syscalls", "sys_exit_"+call)
		}
		if !one {
			any = append(any, k)
			continue
		}
		programs = append(programs, load.Program{
			Label: "texts of " + k.Label, Kind: ebpf.TracePoint, Attach: "syscalls:sys_exit_" + call, ID: id,
			Ins: sender([]LateCall{k}, true), Event: -1,
		})
	}
	if len(any) > 0 {
		programs = append(programs, load.Program{
			Label: "texts", Kind: ebpf.RawTracepoint, Attach: "sys_exit", Ins: sender(any, true), Event: -1,
		})
	}
	return append(programs, load.Program{
		Label: "no texts", Kind: ebpf.RawTracepoint, Attach: "sched_process_exec",
		Ins: sender(calls, false), Event: -1,
	}), maps
}

// The places of a sender: its record, the key of the thread, and room for
// ReadText.
const (
	recordAt = -latetext.Size
	taskAt   = recordAt - 8
	workAt   = taskAt - 16
)

// sender is the program that sends the texts that were missing when the call of the
// running thread began. It sends texts that are still missing too, so that readers do
// not wait for them. read is false if the process has new memory, so that no text can
// be read.
func sender(calls []LateCall, read bool) asm.Instructions {
	ins := asm.Instructions{
		counted(),
		asm.LoadMem(asm.R0, asm.R1, 0, asm.DWord),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.Mov.Imm(asm.R0, 0),
	}
	for at := recordAt; at < 0; at += 8 {
		ins = append(ins, asm.StoreMem(asm.R10, int16(at), asm.R0, asm.DWord))
	}
	ins = append(ins,
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(asm.R10, taskAt, asm.R0, asm.DWord),
		asm.StoreMem(asm.R10, recordAt+latetext.TaskAt, asm.R0, asm.DWord))
	for _, k := range calls {
		ins = append(ins, k.send(read)...)
	}
	// If a program at a tracepoint returned 0, other observers would not get the
	// event.
	return append(ins, asm.Mov.Imm(asm.R0, 1).WithSymbol("end"), asm.Return())
}

// send sends the texts of the thread's call, if some were missing.
func (k *LateCall) send(read bool) asm.Instructions {
	m, none := load.LateMap.Of(k.Source), "none_"+strconv.Itoa(k.Source)
	key := func() asm.Instructions {
		return asm.Instructions{pointer(m), asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, taskAt)}
	}
	ins := append(key(),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, none),
		asm.Mov.Reg(asm.R6, asm.R0),
		asm.LoadMem(asm.R0, asm.R6, numberAt, asm.DWord),
		asm.StoreMem(asm.R10, recordAt+latetext.NumberAt, asm.R0, asm.DWord))
	for i := range k.Texts {
		name := "text_" + strconv.Itoa(k.Source) + "_" + strconv.Itoa(i)
		ins = append(ins,
			asm.LoadMem(asm.R3, asm.R6, int16(firstAt+8*i), asm.DWord),
			asm.JEq.Imm(asm.R3, 0, name),
			asm.StoreMem(asm.R10, recordAt+latetext.AddrAt, asm.R3, asm.DWord))
		if read {
			ins = append(ins, asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, recordAt+latetext.TextAt))
			ins = append(ins, assembler.ReadText(asm.R10, recordAt+latetext.TextAt, workAt, name)...)
		} else {
			ins = append(ins,
				asm.LoadImm(asm.R0, int64(assembler.Word(event.UserTextFault)), asm.DWord),
				asm.StoreMem(asm.R10, recordAt+latetext.TextAt, asm.R0, asm.DWord),
				asm.Mov.Imm(asm.R0, assembler.UserFault))
		}
		ins = append(ins,
			asm.StoreMem(asm.R10, recordAt+latetext.LengthAt, asm.R0, asm.DWord),
			pointer(load.LateTextsMap.Of()),
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, recordAt),
			asm.Mov.Imm(asm.R3, latetext.Size),
			asm.Mov.Imm(asm.R4, ringNoWakeup),
			asm.FnRingbufOutput.Call(),
			assembler.Here(name))
	}
	ins = append(append(ins, key()...), asm.FnMapDeleteElem.Call(), counted(),
		asm.Mov.Imm(asm.R2, -1), asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0))
	return append(ins, assembler.Here(none))
}
