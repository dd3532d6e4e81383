package hook

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file copies texts and arrays of the event's record for output in lines.

// A Piece is a part of a record that one instruction loads: offset and size in
// bytes.
type Piece struct{ Off, Size int }

// mostPieces is the most pieces for which loads take less time than a call of a
// helper.
const mostPieces = 6

// Pieces returns the pieces of a text or an array, if the program can copy it with loads;
// else nil. Bytes behind the NUL of a text are copied too; the output ignores them.
func (h *Hook) Pieces(f *event.Field) (list []Piece) {
	if f.Kind != event.Str && f.Kind != event.Array || f.Place != event.InRaw || f.Read != nil ||
		h.Raw != nil || h.Kind != ebpf.TracePoint {
		return nil
	}
	for off, end := f.Offset, f.Offset+f.Size; off < end; {
		size := 8
		for off%size != 0 || off+size > end {
			size /= 2
		}
		list = append(list, Piece{off, size})
		off += size
	}
	if len(list) > mostPieces {
		return nil
	}
	return list
}

// Located writes the locator of a text (the offset and length in its
// __data_loc) to a place, and the text behind it.
func (h *Hook) Located(off int16, size int, f *event.Field) {
	c := h.Code
	c.Zero(off, size)
	if h.Raw != nil {
		c.Set(off, int32(h.Raw.Fields[f.Name].Size)<<16)
		h.rawText(off+sent.LocatorSize, f.Name)
		return
	}
	h.locator(f)
	c.Store(off, asm.R0)
	h.textAt(f)
	c.Addr(asm.R1, off+sent.LocatorSize)
	c.Emit(asm.Mov.Imm(asm.R2, int32(size-sent.LocatorSize)))
	c.Call(asm.FnProbeReadKernelStr)
}

// LocatedHere is Located to the memory at R7, at the offset at.
func (h *Hook) LocatedHere(at, size int, f *event.Field) {
	c := h.Code
	h.locator(f)
	c.Emit(asm.StoreMem(asm.R7, int16(at), asm.R0, asm.DWord))
	h.textAt(f)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R7), asm.Add.Imm(asm.R1, int32(at+sent.LocatorSize)),
		asm.Mov.Imm(asm.R2, int32(size-sent.LocatorSize)))
	c.Call(asm.FnProbeReadKernelStr)
}

// ShortText writes a text of known size to off, where all bytes must be 0: the name of the thread,
// or a text at a fixed offset of the record. For other texts it returns false.
func (h *Hook) ShortText(off int16, f *event.Field) bool {
	c := h.Code
	switch {
	case f.Place == event.InMember:
		c.Addr(asm.R1, off)
		c.Emit(asm.Mov.Imm(asm.R2, 16))
		c.Call(asm.FnGetCurrentComm)
	case h.Raw != nil:
		h.rawText(off, f.Name)
	case f.Place == event.InRaw:
		c.Addr(asm.R1, off)
		c.Emit(asm.Mov.Imm(asm.R2, int32(f.Size+1)), asm.Mov.Reg(asm.R3, asm.R6),
			asm.Add.Imm(asm.R3, int32(f.Offset)))
		c.Call(asm.FnProbeReadKernelStr)
	default:
		return false
	}
	return true
}

// LocatedText leaves in R3 the address of a field's text, and in R2 its length by the record,
// with its NUL, plus 1.
func (h *Hook) LocatedText(f *event.Field) {
	h.locator(f)
	h.Code.Emit(asm.Mov.Reg(asm.R2, asm.R0), asm.RSh.Imm(asm.R2, 16), asm.Add.Imm(asm.R2, 1))
	h.textAt(f)
}

// locator loads the locator of a text into R0.
func (h *Hook) locator(f *event.Field) { h.Record(asm.R0, f.Offset, 4, false) }

// textAt leaves in R3 the address of the text whose locator is in R0.
func (h *Hook) textAt(f *event.Field) {
	c := h.Code
	c.Emit(asm.And.Imm(asm.R0, 0xffff))
	if f.Place == event.RelLoc {
		c.Emit(asm.Add.Imm(asm.R0, int32(f.Offset)+4))
	}
	c.Emit(asm.Mov.Reg(asm.R3, asm.R6), asm.Add.Reg(asm.R3, asm.R0))
}

// IsLocated reports that a field is a text whose offset and length are in the
// record (__data_loc, __rel_loc).
func IsLocated(f *expr.Field) bool {
	return f.View == expr.ViewValue && f.F.Kind == event.Str &&
		(f.F.Place == event.DataLoc || f.F.Place == event.RelLoc)
}

// ArraySize is the size of an array in bytes. It refuses an array that cannot be
// copied in words, or is larger than most.
func ArraySize(f *event.Field, most int) int {
	if f.Place != event.InRaw || f.Offset%8 != 0 || f.Size%8 != 0 || f.Size > most {
		assembler.Refuse("field %s is an array of another form", f.Name)
	}
	return f.Size
}
