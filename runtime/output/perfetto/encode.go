package perfetto

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"ppscript/runtime/text/plain"
)

// This file encodes the wire format of protocol buffers.

const (
	varint  = 0
	fixed64 = 1
	bytesOf = 2
)

func appendTag(dst []byte, field, wire int) []byte {
	if tag := uint64(field<<3 | wire); tag >= 0x80 {
		return binary.AppendUvarint(dst, tag)
	}
	return append(dst, byte(field<<3|wire))
}

func appendUint(dst []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(appendTag(dst, field, varint), v)
}

// appendInt appends an int32 or int64; negative numbers need ten bytes.
func appendInt(dst []byte, field int, v int64) []byte { return appendUint(dst, field, uint64(v)) }

func appendFixed(dst []byte, field int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(dst, field, fixed64), v)
}

func appendDouble(dst []byte, field int, v float64) []byte {
	return appendFixed(dst, field, math.Float64bits(v))
}

// appendBytes appends a message, or a text that is valid UTF-8.
func appendBytes[T string | []byte](dst []byte, field int, v T) []byte {
	dst = binary.AppendUvarint(appendTag(dst, field, bytesOf), uint64(len(v)))
	return append(dst, v...)
}

// appendText appends a text. Bytes that are no UTF-8 are escaped as \xff by plain.Valid, since
// readers may refuse the whole message.
func appendText(dst []byte, field int, v []byte) []byte {
	if !utf8.Valid(v) {
		v = []byte(plain.Valid(string(v)))
	}
	return appendBytes(dst, field, v)
}
