package tracefs

import (
	"strconv"

	"ppscript/runtime/event"
)

// appendFields prints the fields of a record as "name=value", without the
// common ones. It is used for events whose print fmt calls functions of the
// kernel that this package lacks.
func appendFields(dst []byte, s *event.Schema, e *event.Event) []byte {
	first := true
	for i := range s.Fields {
		f := &s.Fields[i]
		if len(f.Name) > 7 && f.Name[:7] == "common_" {
			continue
		}
		if !first {
			dst = append(dst, ' ')
		}
		first = false
		dst = append(append(dst, f.Name...), '=')
		dst = appendField(dst, f, e)
	}
	return dst
}

// appendField prints one field by its kind: numbers in decimal, addresses and
// elements of arrays in hex. It prints "?" if the record is too short to have
// the field.
func appendField(dst []byte, f *event.Field, e *event.Event) []byte {
	data := f.Loc(e)
	if data == nil {
		return append(dst, '?')
	}
	switch f.Kind {
	case event.Int:
		v, _ := event.LoadInt(data, f.Signed)
		switch {
		case f.Unit == event.AddressU:
			return appendHexNumber(dst, uint64(v))
		case f.Signed:
			return strconv.AppendInt(dst, v, 10)
		}
		return strconv.AppendUint(dst, uint64(v), 10)
	case event.Str:
		return append(dst, f.Text(e)...)
	case event.Bitmask:
		return appendBitList(dst, data, 8*len(data))
	case event.Array:
		return appendArray(dst, data, len(data), f.Elem)
	}
	return appendHexString(dst, data, len(data), true)
}
