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

// This file generates the programs that read texts of the process again which were not in
// memory when a system call began. Package runtime/record/latetext reads what they send.
//
// A page that no instruction of the process has touched is not in its memory yet, as
// that of a constant of a program that has just begun. The call itself has the kernel
// fetch it, so the text can be read when the call ends. Programs cannot wait, and an
// event cannot be sent then, since records are in the order of their times. So the
// event is sent as it begins, with a number in place of the text. The program keeps
// number and address with the thread, and another one, at the end of the call, sends
// the text with the number. The reader of the event waits for it.
//
// The text is the memory's content at the end of the call. What another thread, or the call itself,
// wrote there meanwhile is taken for it; names of files stay. A call that executes
// another program ends without the memory that had the text.

// textsSize is the size of the buffer for texts that come later: for a thousand of
// them, which is more than come between two looks.
const textsSize = 1 << 19

// mostCalls bounds the calls whose texts are missing; of more, the oldest are forgotten.
const mostCalls = 1 << 12

// The value of a call whose texts are missing: its number, which is the time on the
// clock of programs, then the addresses, 0 where a text is there.
const (
	numberAt = 0
	firstAt  = 8
)

// callSize is the size of the value of a call with so many texts.
func callSize(texts int) int { return firstAt + 8*texts }

// noteText is put behind assembler.ReadText for text i of a record, whose entry R8 points to. A text
// that could not be read gets the number of the call behind it; R0 is how many bytes
// there are then. call is where the call's value is on the stack.
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

// keepCall keeps the call on the stack if texts of it are missing. task is where process
// and thread are, source which event it is.
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

// counted loads in R1 where the calls that are kept are counted, or more of them.
func counted() asm.Instruction {
	return asm.LoadMapValue(asm.R1, 0, 0).WithReference(load.LateCountMap.Of().String())
}

// pointer loads a map in R1.
func pointer(m load.MapID) asm.Instruction {
	return asm.LoadMapPtr(asm.R1, 0).WithReference(m.String())
}

// A LateCall is an event at the begin of system calls that is sent with texts.
type LateCall struct {
	Source int
	Schema *event.Schema
	Label  string
	Texts  int // at most
}

// LateTexts returns the programs that read missing texts again, and the maps between. find finds
// the number of a tracepoint; nil finds none.
func LateTexts(calls []LateCall, find func(system, name string) (id uint64, ok bool)) (
	programs []load.Program, maps []load.Map) {
	if len(calls) == 0 {
		return nil, nil
	}
	var any []LateCall // without an event at the end of these calls alone
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

// Where a sender has its record, the key of the thread, and room to work.
const (
	recordAt = -latetext.Size
	taskAt   = recordAt - 8
	workAt   = taskAt - 16
)

// sender is the program that sends the texts that were missing when the call of the
// running thread began. Those that are still missing are sent too, so that nobody waits
// for them; read is false where the memory is another one.
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
	// With 0 from a program at a tracepoint, others would not get its events any more.
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
