package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/sent"
)

// This file writes to the buffers through which programs send. Each CPU has one
// (BPF_MAP_TYPE_RINGBUF), so that nobody waits for another CPU's lock, and its
// records are in the order of their times. It takes half the time of
// bpf_perf_event_output, of which most goes to fields of a sample that programs
// know for less.
//
// Where system calls can be preempted in the middle of a program (6.13), they
// must not be between a record's time and its place in the buffer.

// Of bpf_ringbuf_output and bpf_ringbuf_query, in uapi/linux/bpf.h.
const (
	ringNoWakeup    = 1 // BPF_RB_NO_WAKEUP
	ringForceWakeup = 2 // BPF_RB_FORCE_WAKEUP
	ringAvailable   = 0 // BPF_RB_AVAIL_DATA
	ringHeader      = 8 // BPF_RINGBUF_HDR_SZ
)

// An outgoing is a record to be sent, behind room for its head: on the stack, or at R7
// if its length is only known when the program runs.
type outgoing struct {
	at     int16 // of the head, on the stack
	size   int   // that is known, with the head
	length int16 // where on the stack it stands how much more it is; 0 is nothing
	most   int   // of that
	stream int   // its number
	number int16 // where on the stack the number stands, if only the program knows it
}

// head stores a part of the head.
func (s *sender) head(r *outgoing, off int, src asm.Register) {
	if r.length != 0 {
		s.code.Emit(asm.StoreMem(asm.R7, int16(off-sent.HeadSize), src, asm.DWord))
	} else {
		s.code.Store(r.at+int16(off), src)
	}
}

// send completes a record and sends it. R7 to R9 are lost.
func (s *sender) send(r *outgoing) {
	c := s.code
	// The program computes as much as it can before, to keep the time without preemption short.
	c.Load(asm.R0, s.eval.members.PidTgid())
	s.head(r, sent.HeadTask, asm.R0)
	if r.number != 0 {
		c.Load(asm.R0, r.number)
	} else {
		c.Emit(asm.Mov.Imm(asm.R0, int32(r.stream)))
	}
	s.head(r, sent.HeadStream, asm.R0)
	on := s.eval.hook.Unpreempted()
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
	c.Place(nowhere) // a CPU that came later
	s.count(load.StatLost)
	c.Place(done)
	on()
}

// output sends a record to the buffer in R8. Who waits is woken when the bytes
// that nobody has read pass the mark in R9, not for each record beyond it.
func (s *sender) output(r *outgoing, lost label) {
	c := s.code
	quiet := c.Label()
	c.Emit(asm.Mov.Reg(asm.R1, asm.R8), asm.Mov.Imm(asm.R2, ringAvailable))
	c.Call(asm.FnRingbufQuery)
	if r.length == 0 {
		c.Addr(asm.R2, r.at)
		c.Emit(asm.Mov.Imm(asm.R3, int32(r.size)))
	} else {
		c.Emit(asm.Mov.Reg(asm.R2, asm.R7), asm.Add.Imm(asm.R2, -sent.HeadSize))
		c.Load(asm.R3, r.length)
		c.IfImm(asm.JGT, asm.R3, int32(r.most), lost) // the verifier wants to see it
		c.Emit(asm.Add.Imm(asm.R3, int32(r.size)))
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

// tell sends how many records did not fit, if some did not and no record tells
// of them yet.
//
// Slow path but for the first comparison.
func (s *sender) tell() {
	c := s.code
	fine := c.Label()
	c.Emit(asm.LoadMem(asm.R1, asm.R9, load.SendFailed, asm.DWord),
		asm.LoadMem(asm.R2, asm.R9, load.SendTold, asm.DWord))
	c.IfReg(asm.JEq, asm.R1, asm.R2, fine)
	c.Emit(asm.Sub.Reg(asm.R1, asm.R2))
	// A program that interrupted this one may have told of the same.
	c.IfImm(asm.JSLE, asm.R1, 0, fine)
	mark := c.Stack
	loss := c.Alloc(sent.LossSize)
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

// buffers adds the maps that lead to the buffers. Their sizes are for who reads
// them to say.
func (im *Image) buffers() {
	im.define(load.SendMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: load.SendSize,
		Flags: unix.BPF_F_MMAPABLE})
	im.define(load.BuffersMap.Of(), &ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4,
		InnerMap: &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4096}})
}
