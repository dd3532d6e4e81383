package event

import (
	"bytes"
	"encoding/binary"
)

// This file reads fields the slow, general way: one switch per access. It
// serves printing, interpreted functions and tests. Per-event code of a plan
// uses expr, which chooses the case of the switch once, when the plan is built.

// Loc returns the bytes of a field in Raw; nil if the record is too short. A
// fixed field is its Size bytes, or the rest of the record if it has no size of
// its own, a dynamic one the bytes that its locator points to.
func (f *Field) Loc(e *Event) []byte {
	end := f.Offset + f.Size
	if end > len(e.Raw) || f.Offset < 0 {
		return nil
	}
	switch f.Place {
	case InRaw:
		if f.Size == 0 {
			return e.Raw[f.Offset:]
		}
		return e.Raw[f.Offset:end]
	case DataLoc, RelLoc:
		loc := binary.LittleEndian.Uint32(e.Raw[f.Offset:])
		off, n := int(loc&0xffff), int(loc>>16)
		if f.Place == RelLoc {
			off += f.Offset + 4
		}
		if off+n > len(e.Raw) {
			return nil
		}
		return e.Raw[off : off+n]
	}
	return nil
}

// Int reads the field as a number: an integer field, a sample member, or a computed
// number. Anything else, and a record that is too short, is 0 and false.
func (f *Field) Int(e *Event) (int64, bool) {
	switch f.Place {
	case InMember:
		return f.member(e)
	case InSlot:
		if e.Derived == nil || f.Offset >= len(e.Derived.Slots) {
			return 0, false
		}
		v := e.Derived.Slots[f.Offset]
		return v.Int(), v.Numeric()
	}
	if f.Kind != Int {
		return 0, false
	}
	return LoadInt(f.Loc(e), f.Signed)
}

// LoadInt reads a little-endian integer of 1, 2, 4 or 8 bytes.
func LoadInt(b []byte, signed bool) (int64, bool) {
	switch len(b) {
	case 1:
		if signed {
			return int64(int8(b[0])), true
		}
		return int64(b[0]), true
	case 2:
		v := binary.LittleEndian.Uint16(b)
		if signed {
			return int64(int16(v)), true
		}
		return int64(v), true
	case 4:
		v := binary.LittleEndian.Uint32(b)
		if signed {
			return int64(int32(v)), true
		}
		return int64(v), true
	case 8:
		return int64(binary.LittleEndian.Uint64(b)), true
	}
	return 0, false
}

// truncate keeps the low size bytes of v.
func truncate(v uint64, size int, signed bool) int64 {
	shift := 64 - 8*size
	if size <= 0 || shift <= 0 {
		return int64(v)
	}
	if signed {
		return int64(v<<shift) >> shift
	}
	return int64(v << shift >> shift)
}

func (f *Field) member(e *Event) (int64, bool) {
	switch f.Member {
	case MemberTime:
		return int64(e.Time), true
	case MemberPID:
		return int64(e.PID), true
	case MemberTID:
		return int64(e.TID), true
	case MemberCPU:
		return int64(e.CPU), true
	case MemberDelay:
		if e.Derived == nil || e.Derived.Start == nil || e.Derived.End == nil {
			return 0, false
		}
		return int64(e.Derived.End.Time - e.Derived.Start.Time), true
	case MemberIRQsOff, MemberNeedResched:
		if e.Stream != nil {
			if flags, ok := e.Stream.Schema.Field("common_flags"); ok {
				bits, ok := flags.Int(e)
				return Bit(bits&f.flag() != 0), ok
			}
		}
	}
	if e.Stream == nil || e.Stream.Members == nil {
		return 0, false
	}
	if f.Member >= MemberArg && f.Member < MemberRead {
		if m, ok := e.Stream.Members.(Arguments); ok {
			if v, ok, sent := m.Argument(e, f.Member); sent {
				return truncate(v, f.Size, f.Signed), ok
			}
		}
		if e.Stream.Schema.Arg == nil {
			return 0, false
		}
		v, ok := e.Stream.Schema.Arg(e, int(f.Member-MemberArg))
		return truncate(v, f.Size, f.Signed), ok
	}
	v, ok := e.Stream.Members.Member(e, f.Member)
	return int64(v), ok
}

// Flags of common_flags: must match enum trace_flag_type in
// include/linux/trace_events.h.
const (
	FlagIRQsOff     = 1
	FlagNeedResched = 4
)

// flag is the bit of common_flags that holds the member f.
func (f *Field) flag() int64 {
	if f.Member == MemberNeedResched {
		return FlagNeedResched
	}
	return FlagIRQsOff
}

// Bit is 1 if b holds, else 0.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Text reads a text field without its NUL; nil if it is not text.
func (f *Field) Text(e *Event) []byte {
	if f.Kind != Str {
		return nil
	}
	switch f.Place {
	case InMember:
		if f.Member == MemberComm && e.Stream != nil && e.Stream.Comm != nil {
			return []byte(e.Stream.Comm(e))
		}
		if f.Member == MemberCommNoDigit && e.Stream != nil && e.Stream.Comm != nil {
			return []byte(NoDigits(e.Stream.Comm(e)))
		}
		if f.Member.OfCgroup() && e.Stream != nil && e.Stream.Cgroup != nil {
			if text, ok := e.Stream.Cgroup(e, f.Member); ok {
				return []byte(text)
			}
		}
		if f.Member >= MemberRead {
			text, _ := f.read(e)
			return text
		}
		if f.Member >= MemberArg && e.Stream != nil && e.Stream.Schema.ArgText != nil {
			if text, ok := f.read(e); ok {
				return text
			}
			text, _ := e.Stream.Schema.ArgText(e, int(f.Member-MemberArg))
			return []byte(text)
		}
		return nil
	case InSlot:
		if e.Derived == nil || f.Offset >= len(e.Derived.Slots) {
			return nil
		}
		return []byte(e.Derived.Slots[f.Offset].String())
	}
	b := f.Loc(e)
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return b
}

// read returns the text that a program of the kernel read for a MemberRead; ok
// is false if the sample carries none.
func (f *Field) read(e *Event) (text []byte, ok bool) {
	if e.Stream == nil {
		return nil, false
	}
	if m, has := e.Stream.Members.(MemberTexts); has {
		return m.MemberText(e, f.Member)
	}
	return nil, false
}

// Number returns n, a number read from the field, as a Value with the field's
// unit.
func (f *Field) Number(n int64) Value {
	return Type{Kind: TypeInt, Unsigned: !f.Signed && f.Size == 8, Unit: f.Unit}.Number(n)
}

// Value reads the field as a Value, typed by the field's kind and unit.
func (f *Field) Value(e *Event) Value {
	if f.Place == InSlot {
		if e.Derived == nil || f.Offset >= len(e.Derived.Slots) {
			return Value{}
		}
		return e.Derived.Slots[f.Offset]
	}
	switch f.Kind {
	case Str:
		return StrOf(string(f.Text(e)))
	case Int:
		n, ok := f.Int(e)
		if !ok {
			return Value{}
		}
		return f.Number(n)
	case Array, Bitmask:
		b := f.Loc(e)
		if f.Elem <= 0 {
			return StrOf(string(b))
		}
		var vs []Value
		for ; len(b) >= f.Elem; b = b[f.Elem:] {
			n, _ := LoadInt(b[:f.Elem], f.Signed)
			if f.Signed || f.Elem < 8 {
				vs = append(vs, IntOf(n))
			} else {
				vs = append(vs, UintOf(uint64(n)))
			}
		}
		return ListOf(vs...)
	}
	return StrOf(string(f.Loc(e)))
}
