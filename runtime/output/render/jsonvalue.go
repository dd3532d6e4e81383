package render

import (
	"math"
	"strconv"
	"unicode/utf8"

	"ppscript/runtime/event"
	"ppscript/runtime/text/plain"
)

// This file encodes values. It does not use encoding/json, which allocates for
// each value of each event and does not keep the order of members.

// appendJSONValue appends a value; NaN and infinities, which JSON does not
// have, become null.
func appendJSONValue(dst []byte, v event.Value) []byte {
	switch v.Kind {
	case event.None:
		return append(dst, "null"...)
	case event.StrValue:
		return appendJSONString(dst, v.String())
	case event.BoolValue:
		return strconv.AppendBool(dst, v.Bool())
	case event.UintValue:
		return strconv.AppendUint(dst, v.Uint(), 10)
	case event.FloatValue:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return append(dst, "null"...)
		}
		return strconv.AppendFloat(dst, f, 'g', -1, 64)
	case event.ListValue:
		dst = append(dst, '[')
		for i, m := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONValue(dst, m)
		}
		return append(dst, ']')
	}
	return strconv.AppendInt(dst, v.Int(), 10)
}

// appendJSONString appends s in quotes. Bytes that are not UTF-8 become \xff, as in plain.Valid.
// Characters that could control a terminal or end a line in JavaScript are escaped.
func appendJSONString[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	plainFrom := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c <= '~' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[plainFrom:i]...)
		var n int
		dst, n = appendJSONRune(dst, string(s[i:min(i+utf8.UTFMax, len(s))]))
		i += n
		plainFrom = i
	}
	dst = append(dst, s[plainFrom:]...)
	return append(dst, '"')
}

// appendJSONRune appends the first character of s, escaped if necessary, and
// returns its length in s.
func appendJSONRune(dst []byte, s string) ([]byte, int) {
	switch s[0] {
	case '"', '\\':
		return append(dst, '\\', s[0]), 1
	case '\n':
		return append(dst, '\\', 'n'), 1
	case '\t':
		return append(dst, '\\', 't'), 1
	case '\r':
		return append(dst, '\\', 'r'), 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return append(dst, '\\', '\\', 'x', plain.Hex[s[0]>>4], plain.Hex[s[0]&15]), n
	}
	if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
		return append(dst, '\\', 'u', plain.Hex[r>>12&15], plain.Hex[r>>8&15], plain.Hex[r>>4&15],
			plain.Hex[r&15]), n
	}
	return append(dst, s[:n]...), n
}
