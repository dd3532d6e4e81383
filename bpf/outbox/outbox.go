// Package outbox generates code that sends records, and the texts that belong to them, through the
// buffers of package ringbuf. Package bpf calls it with a record that is complete except for its
// head.
package outbox

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/record/sent"
)

// This file writes to the buffers through which programs send. Each CPU has its
// own (BPF_MAP_TYPE_RINGBUF), so that no CPU waits for another CPU's lock, and
// its records are in the order of their times. It takes half the time of
// bpf_perf_event_output, which spends most of its time on fields of a sample
// that programs get more cheaply.
//
// Since 6.13 system calls can be preempted in the middle of a program. That
// must not happen between reading a record's time and reserving its place in
// the buffer.

// Of bpf_ringbuf_output and bpf_ringbuf_query, in uapi/linux/bpf.h.
const (
	ringNoWakeup    = 1 // BPF_RB_NO_WAKEUP
	ringForceWakeup = 2 // BPF_RB_FORCE_WAKEUP
	ringAvailable   = 0 // BPF_RB_AVAIL_DATA
	ringHeader      = 8 // BPF_RINGBUF_HDR_SZ
)

// A Record is a record to be sent, with room for its head in front: on the stack,
// or at R7 if its length is only known when the program runs.
type Record struct {
	At     int16 // place of the head
	Size   int   // bytes known in advance, with the head
	Length int16 // place of the number of further bytes; 0 if there are none
	Most   int   // bounds the further bytes
	Stream int   // number of its stream
	Number int16 // place of the number, if only the program computes it; else 0
}

// An Outbox sends the records of a program.
type Outbox struct {
	*assembler.Code
	Hook    *hook.Hook
	Members *hook.Members
}

// head stores a part of the head.
func (s *Outbox) head(r *Record, off int, src asm.Register) {
	if r.Length != 0 {
		s.Emit(asm.StoreMem(asm.R7, int16(off-sent.HeadSize), src, asm.DWord))
	} else {
		s.Store(r.At+int16(off), src)
	}
}

// Send completes a record and sends it. It overwrites R7 to R9.
func (s *Outbox) Send(r *Record) {
	c := s.Code
	// The program computes as much as it can first, to keep the time without preemption short.
	c.Load(asm.R0, s.Members.PidTgid())
	s.head(r, sent.HeadTask, asm.R0)
	if r.Number != 0 {
		c.Load(asm.R0, r.Number)
	} else {
		c.Emit(asm.Mov.Imm(asm.R0, int32(r.Stream)))
	}
	s.head(r, sent.HeadStream, asm.R0)
	on := s.Hook.Unpreempted()
	done, lost, nowhere := c.Label(), c.Label(), c.Label()
	cpu := c.Alloc(8)
	c.Call(asm.FnGetSmpProcessorId)
	c.Store(cpu, asm.R0)
	c.Get(load.SendMap.Of(), cpu, nowhere)
	c.Emit(asm.Mov.Reg(asm.R9, asm.R0))
	c.Get(load.BuffersMap.Of(), cpu, nowhere)
	c.Emit(asm.Mov.Reg(asm.R8, asm.R0))
	s.tell()
	c.Call(asm.FnKtimeGetNs)
	s.head(r, sent.HeadTime, asm.R0)
	s.output(r, lost)
	c.IfImm(asm.JNE, asm.R0, 0, lost)
	c.GoTo(done)
	c.Place(lost)
	c.Emit(asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(asm.R9, asm.R1, asm.DWord, load.SendFailed))
	c.GoTo(done)
	c.Place(nowhere) // a CPU that came online later
	c.Count(load.StatsMap.Of(s.Hook.Index), load.StatLost)
	c.Place(done)
	on()
}

// output sends a record to the buffer in R8. Its reader is woken when its unread bytes pass the
// mark in the memory at R9, and not again for each record beyond it.
func (s *Outbox) output(r *Record, lost assembler.Label) {
	c := s.Code
	quiet := c.Label()
	c.Emit(asm.Mov.Reg(asm.R1, asm.R8), asm.Mov.Imm(asm.R2, ringAvailable))
	c.Call(asm.FnRingbufQuery)
	if r.Length == 0 {
		c.Addr(asm.R2, r.At)
		c.Emit(asm.Mov.Imm(asm.R3, int32(r.Size)))
	} else {
		c.Emit(asm.Mov.Reg(asm.R2, asm.R7), asm.Add.Imm(asm.R2, -sent.HeadSize))
		c.Load(asm.R3, r.Length)
		c.IfImm(asm.JGT, asm.R3, int32(r.Most), lost) // it is so already; the verifier requires the test
		c.Emit(asm.Add.Imm(asm.R3, int32(r.Size)))
	}
	c.Emit(asm.Mov.Imm(asm.R4, ringNoWakeup), asm.LoadMem(asm.R1, asm.R9, load.SendWake, asm.DWord))
	c.IfReg(asm.JGE, asm.R0, asm.R1, quiet)
	c.Emit(asm.Add.Reg(asm.R0, asm.R3), asm.Add.Imm(asm.R0, ringHeader))
	c.IfReg(asm.JLT, asm.R0, asm.R1, quiet)
	c.Emit(asm.Mov.Imm(asm.R4, ringForceWakeup))
	c.Place(quiet)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R8))
	c.Call(asm.FnRingbufOutput)
}

// tell sends a loss record if records did not fit since the last one, with
// their number.
//
// Slow path, except for the first comparison.
func (s *Outbox) tell() {
	c := s.Code
	fine := c.Label()
	c.Emit(asm.LoadMem(asm.R1, asm.R9, load.SendFailed, asm.DWord),
		asm.LoadMem(asm.R2, asm.R9, load.SendTold, asm.DWord))
	c.IfReg(asm.JEq, asm.R1, asm.R2, fine)
	c.Emit(asm.Sub.Reg(asm.R1, asm.R2))
	// A program that interrupted this one may have reported the same loss.
	c.IfImm(asm.JSLE, asm.R1, 0, fine)
	mark := c.Stack
	loss := c.AllocStack(sent.LossSize)
	c.Store(loss+sent.HeadSize, asm.R1)
	c.Emit(asm.AddAtomic.Mem(asm.R9, asm.R1, asm.DWord, load.SendTold))
	c.Call(asm.FnKtimeGetNs)
	c.Store(loss+sent.HeadTime, asm.R0)
	c.Emit(assembler.StoreImm(asm.R10, loss+sent.HeadTask, -1),
		assembler.StoreImm(asm.R10, loss+sent.HeadStream, sent.LossStream))
	c.Emit(asm.Mov.Reg(asm.R1, asm.R8))
	c.Addr(asm.R2, loss)
	c.Emit(asm.Mov.Imm(asm.R3, sent.LossSize), asm.Mov.Imm(asm.R4, ringNoWakeup))
	c.Call(asm.FnRingbufOutput)
	c.IfImm(asm.JEq, asm.R0, 0, fine)
	c.Load(asm.R2, loss+sent.HeadSize)
	c.Emit(asm.Mov.Imm(asm.R1, 0), asm.Sub.Reg(asm.R1, asm.R2),
		asm.AddAtomic.Mem(asm.R9, asm.R1, asm.DWord, load.SendTold))
	c.Place(fine)
	c.Stack = mark
}

// Maps defines the maps that lead to the buffers. The reader of the buffers sets their
// sizes.
func Maps(define func(load.MapID, *ebpf.MapSpec)) {
	define(load.SendMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: load.SendSize,
		Flags: unix.BPF_F_MMAPABLE})
	define(load.BuffersMap.Of(), &ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4,
		InnerMap: &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4096}})
}
