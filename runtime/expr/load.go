package expr

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file compiles reads of fields. Place, size and sign are decided when the
// closure is made. Every load checks the record's length: records come from
// files and networks too.

// short reports a load from a record that is too short.
func (f *Frame) short() int64 {
	f.Fail(ErrShort)
	return 0
}

// fieldInt compiles a field, or its offset or length, as an integer.
func fieldInt(n *Field) intFn {
	fld := n.F
	if n.View == ViewOffset || n.View == ViewLen {
		return locator(n)
	}
	switch {
	case fld.Place == event.InMember:
		return memberInt(fld, n.Part)
	case fld.Place == event.InSlot:
		slot, part := fld.Offset, n.Part
		return func(f *Frame) int64 {
			e := f.part(part)
			if e == nil || e.Derived == nil || slot >= len(e.Derived.Slots) {
				f.Fail(ErrMissing)
				return 0
			}
			return e.Derived.Slots[slot].Int()
		}
	case fld.Place != event.InRaw:
		locate, signed := locateField(n), fld.Signed
		return func(f *Frame) int64 {
			v, _ := event.LoadInt(locate(f), signed)
			return v
		}
	case n.Part != Self:
		load, part := rawInt(fld.Offset, fld.Size, fld.Signed), n.Part
		return func(f *Frame) int64 {
			e := f.part(part)
			if e == nil {
				return 0
			}
			whole := f.Event
			f.Event = e
			v := load(f)
			f.Event = whole
			return v
		}
	}
	return rawInt(fld.Offset, fld.Size, fld.Signed)
}

// rawInt reads an integer at a fixed place.
func rawInt(off, size int, signed bool) intFn {
	end := off + size
	switch {
	case off < 0:
		return (*Frame).short
	case size == 1 && signed:
		return func(f *Frame) int64 {
			if raw := f.Event.Raw; end <= len(raw) {
				return int64(int8(raw[off]))
			}
			return f.short()
		}
	case size == 1:
		return func(f *Frame) int64 {
			if raw := f.Event.Raw; end <= len(raw) {
				return int64(raw[off])
			}
			return f.short()
		}
	case size == 2 && signed:
		return func(f *Frame) int64 {
			if raw := f.Event.Raw; end <= len(raw) {
				return int64(int16(binary.LittleEndian.Uint16(raw[off:])))
			}
			return f.short()
		}
	case size == 2:
		return func(f *Frame) int64 {
			if raw := f.Event.Raw; end <= len(raw) {
				return int64(binary.LittleEndian.Uint16(raw[off:]))
			}
			return f.short()
		}
	case size == 4 && signed:
		return func(f *Frame) int64 {
			if raw := f.Event.Raw; end <= len(raw) {
				return int64(int32(binary.LittleEndian.Uint32(raw[off:])))
			}
			return f.short()
		}
	case size == 4:
		return func(f *Frame) int64 {
			if raw := f.Event.Raw; end <= len(raw) {
				return int64(binary.LittleEndian.Uint32(raw[off:]))
			}
			return f.short()
		}
	case size == 8:
		return func(f *Frame) int64 {
			if raw := f.Event.Raw; end <= len(raw) {
				return int64(binary.LittleEndian.Uint64(raw[off:]))
			}
			return f.short()
		}
	}
	return func(f *Frame) int64 { f.Fail(ErrKind); return 0 }
}

func memberInt(fld *event.Field, p Part) intFn {
	if p == Self {
		switch fld.Member {
		case event.MemberTime:
			return func(f *Frame) int64 { return int64(f.Event.Time) }
		case event.MemberPID:
			return func(f *Frame) int64 { return int64(f.Event.PID) }
		case event.MemberTID:
			return func(f *Frame) int64 { return int64(f.Event.TID) }
		case event.MemberCPU:
			return func(f *Frame) int64 { return int64(f.Event.CPU) }
		}
	}
	return func(f *Frame) int64 {
		e := f.part(p)
		if e == nil {
			return 0
		}
		v, ok := fld.Int(e)
		if !ok {
			f.Fail(ErrMissing)
		}
		return v
	}
}

func fieldFloat(n *Field) floatFn {
	slot, part := n.F.Offset, n.Part
	if n.F.Place != event.InSlot {
		return func(f *Frame) float64 { f.Fail(ErrKind); return 0 }
	}
	return func(f *Frame) float64 {
		e := f.part(part)
		if e == nil || e.Derived == nil || slot >= len(e.Derived.Slots) {
			f.Fail(ErrMissing)
			return 0
		}
		return e.Derived.Slots[slot].Float()
	}
}

// fieldStr compiles a field as text, or as all of its bytes.
func fieldStr(n *Field) strFn {
	fld, part := n.F, n.Part
	text := fld.Kind == event.Str && n.View == ViewValue
	switch {
	case fld.Read != nil:
		return readText(n)
	case fld.Place == event.InMember && fld.Member >= event.MemberArg:
		return func(f *Frame) []byte {
			e := f.part(part)
			if e == nil || e.Stream == nil || e.Stream.Schema.ArgText == nil {
				f.Fail(ErrMissing)
				return nil
			}
			return fld.Text(e) // a program of the kernel may have read it
		}
	case fld.Place == event.InMember && fld.Member.OfCgroup():
		return func(f *Frame) []byte {
			if e := f.part(part); e != nil && e.Stream != nil && e.Stream.Cgroup != nil {
				if text, ok := e.Stream.Cgroup(e, fld.Member); ok {
					return Bytes(text)
				}
			}
			f.Fail(ErrMissing)
			return nil
		}
	case fld.Place == event.InMember:
		short := fld.Member == event.MemberCommNoDigit
		return func(f *Frame) []byte {
			e := f.part(part)
			if e == nil || e.Stream == nil || e.Stream.Comm == nil ||
				fld.Member != event.MemberComm && !short {
				f.Fail(ErrMissing)
				return nil
			}
			if short {
				return Bytes(event.NoDigits(e.Stream.Comm(e)))
			}
			return Bytes(e.Stream.Comm(e))
		}
	case fld.Place == event.InSlot:
		return func(f *Frame) []byte {
			e := f.part(part)
			if e == nil || e.Derived == nil || fld.Offset >= len(e.Derived.Slots) {
				f.Fail(ErrMissing)
				return nil
			}
			return Bytes(e.Derived.Slots[fld.Offset].String())
		}
	case fld.Place == event.InRaw && part == Self && text && fld.Size > 0:
		off, end := fld.Offset, fld.Offset+fld.Size
		return func(f *Frame) []byte {
			if raw := f.Event.Raw; end <= len(raw) {
				return Trim(raw[off:end])
			}
			f.Fail(ErrShort)
			return nil
		}
	}
	locate := locateField(n)
	if text {
		return func(f *Frame) []byte { return Trim(locate(f)) }
	}
	return locate
}

// locateField finds the bytes of a field in the record.
func locateField(n *Field) strFn {
	fld, part := n.F, n.Part
	// A flexible array at the end has no size of its own: it is the rest of the
	// record.
	rest := fld.Place == event.InRaw && fld.Size == 0
	if part == Self && fld.Place == event.DataLoc && fld.Offset >= 0 {
		off := fld.Offset
		return func(f *Frame) []byte {
			raw := f.Event.Raw
			if off+4 <= len(raw) {
				loc := binary.LittleEndian.Uint32(raw[off:])
				if at, end := int(loc&0xffff), int(loc&0xffff+loc>>16); end <= len(raw) {
					return raw[at:end]
				}
			}
			f.Fail(ErrShort)
			return nil
		}
	}
	return func(f *Frame) []byte {
		e := f.part(part)
		if e == nil {
			return nil
		}
		if rest && fld.Offset >= 0 && fld.Offset <= len(e.Raw) {
			return e.Raw[fld.Offset:]
		}
		b := fld.Loc(e)
		if b == nil {
			f.Fail(ErrShort)
		}
		return b
	}
}

// locator reads the offset or length of a dynamic field.
func locator(n *Field) intFn {
	fld, part, length := n.F, n.Part, n.View == ViewLen
	off := fld.Offset
	return func(f *Frame) int64 {
		e := f.part(part)
		if e == nil {
			return 0
		}
		if off < 0 || off+4 > len(e.Raw) {
			return f.short()
		}
		loc := binary.LittleEndian.Uint32(e.Raw[off:])
		if length {
			return int64(loc >> 16)
		}
		at := int64(loc & 0xffff)
		if fld.Place == event.RelLoc {
			at += int64(off) + 4
		}
		return at
	}
}
