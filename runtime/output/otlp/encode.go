package otlp

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/event"
)

// This file has the encoders that metrics and profiles share. The numbers of fields are
// from opentelemetry/proto/*.proto; the tests decode messages with the collector's
// packages.

func appendUint(dst []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), v)
}

func appendFixed(dst []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(dst, field, protowire.Fixed64Type), v)
}

func appendDouble(dst []byte, field protowire.Number, v float64) []byte {
	return appendFixed(dst, field, math.Float64bits(v))
}

func appendText(dst []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, field, protowire.BytesType), v)
}

// appendMessage appends a field with the message that fill appends.
func appendMessage(dst []byte, field protowire.Number, fill func(dst []byte) []byte) []byte {
	body := fill(nil)
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), body)
}

// appendPacked appends a packed list of numbers.
func appendPacked[T int32 | int64](dst []byte, field protowire.Number, list []T) []byte {
	if len(list) == 0 {
		return dst
	}
	return appendMessage(dst, field, func(dst []byte) []byte {
		for _, v := range list {
			dst = protowire.AppendVarint(dst, uint64(int64(v)))
		}
		return dst
	})
}

// appendPackedFixed appends a packed list of 64-bit words.
func appendPackedFixed(dst []byte, field protowire.Number, list []uint64) []byte {
	return appendMessage(dst, field, func(dst []byte) []byte {
		for _, v := range list {
			dst = protowire.AppendFixed64(dst, v)
		}
		return dst
	})
}

// An Attribute is a property of the sender.
type Attribute struct{ Key, Value string }

// appendAttribute appends a KeyValue.
func appendAttribute(dst []byte, field protowire.Number, key, value string) []byte {
	return appendMessage(dst, field, func(dst []byte) []byte {
		dst = appendText(dst, 1, key)
		return appendMessage(dst, 2, func(dst []byte) []byte { return appendText(dst, 1, value) })
	})
}

// appendAny appends an AnyValue: signed integers as numbers, other values as
// text.
func appendAny(dst []byte, field protowire.Number, v event.Value, text string) []byte {
	return appendMessage(dst, field, func(dst []byte) []byte {
		switch v.Kind {
		case event.IntValue, event.DurationValue, event.TimeValue:
			return appendUint(dst, 3, uint64(v.Int()))
		}
		return appendText(dst, 1, text)
	})
}

// appendResource appends the Resource, which describes the sender, in the field that it
// has in all signals.
func appendResource(dst []byte, resource []Attribute) []byte {
	return appendMessage(dst, 1, func(dst []byte) []byte {
		for _, a := range resource {
			dst = appendAttribute(dst, 1, a.Key, a.Value)
		}
		return dst
	})
}

func appendScope(dst []byte, name string) []byte {
	return appendMessage(dst, 1, func(dst []byte) []byte { return appendText(dst, 1, name) })
}
