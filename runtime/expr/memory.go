package expr

import (
	"math"

	"ppscript/runtime/event"
)

// This file reads the record's memory through addresses. A symbolic address is
// recordBase, a number that no kernel uses as an address, plus the part of the
// event, plus the offset in the record. Pointer arithmetic works on it. An
// address that was not derived from the event, or is outside of it, sets
// Frame.Err and reads nothing.

// record returns the memory of the record from an address to its end.
func (f *Frame) record(addr int64) []byte {
	rel := uint64(addr) - recordBase
	p, off := rel>>partShift, rel&(1<<partShift-1)
	if p > math.MaxUint8 {
		f.Fail(ErrPointer)
		return nil
	}
	e := f.part(Part(p))
	if e == nil {
		return nil
	}
	if off > uint64(len(e.Raw)) {
		f.Fail(ErrPointer)
		return nil
	}
	return e.Raw[off:]
}

func memInt(n *Mem) intFn {
	addr, size, signed := genInt(n.Addr), n.Size, n.Signed
	if c, ok := n.Addr.(*Const); ok && uint64(c.Int)-recordBase < 1<<16 {
		return rawInt(int(c.Int-recordBase), size, signed)
	}
	return func(f *Frame) int64 {
		b := f.record(addr(f))
		if len(b) < size {
			f.Fail(ErrPointer)
			return 0
		}
		v, _ := event.LoadInt(b[:size], signed)
		return v
	}
}

func memText(n *CStr) strFn {
	addr := genInt(n.Addr)
	return func(f *Frame) []byte { return Trim(f.record(addr(f))) }
}

func memBytes(n *MemBytes) strFn {
	addr, size := genInt(n.Addr), genInt(n.Len)
	return func(f *Frame) []byte {
		b := f.record(addr(f))
		k := size(f)
		if k < 0 || k > int64(len(b)) {
			f.Fail(ErrPointer)
			return nil
		}
		return b[:k]
	}
}

// Memory returns the memory of the event that an address points into, to the
// end of the record; nil with Err set if it points elsewhere. The address is
// the value of a Program whose expression is a pointer, &REC->saddr.
func (f *Frame) Memory(addr int64) []byte { return f.record(addr) }

// IntoRecord reports that an address is computed from the record's address.
func IntoRecord(n Node) bool {
	found := false
	Walk(n, func(n Node) bool {
		c, ok := n.(*Const)
		found = found || ok && uint64(c.Int)-recordBase < 1<<(partShift+8)
		return !found
	})
	return found
}
