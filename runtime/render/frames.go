package render

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/plain"
	"ppscript/runtime/result"
)

// This file writes frames of stacks: as lines below an event or a count, as
// names in folded stacks and flame graphs, and as members of JSON records.

// appendFrameLine appends a frame as a line without its end:
//
//	ffffffff816c51a3 __schedule+0x4f3 ([kernel.kallsyms])
func appendFrameLine(dst []byte, f *result.Frame) []byte {
	dst = append(dst, "    "...)
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, plain.Hex[f.Addr>>shift&15])
	}
	dst = append(dst, ' ')
	switch {
	case f.Symbol != "":
		dst = plain.Append(dst, f.Symbol)
		if !f.Inline {
			dst = strconv.AppendUint(append(dst, "+0x"...), f.Offset, 16)
		}
	case f.DSO != "":
		dst = append(dst, "Unknown+0x0"...)
	default:
		return append(dst, "Unknown"...)
	}
	if f.Inline {
		dst = append(dst, " (inlined)"...)
	} else if f.DSO != "" {
		dst = append(plain.Append(append(dst, " ("...), f.DSO), ')')
	}
	if f.File != "" {
		dst = append(plain.Append(append(dst, ' '), f.File), ':')
		dst = strconv.AppendInt(dst, int64(f.Line), 10)
	}
	return dst
}

// cutLine stands below a stack whose outer frames are missing.
const cutLine = "    (cut: outer frames are missing)\n"

// appendFrameLines appends the lines of a whole stack.
func appendFrameLines(dst []byte, frames []*result.Frame, cut bool) []byte {
	for i := range frames {
		dst = append(appendFrameLine(dst, frames[i]), '\n')
	}
	if cut {
		dst = append(dst, cutLine...)
	}
	return dst
}

// StackText is a stack in one line, as folded stacks show it: outermost first.
func StackText(frames []*result.Frame) string {
	var dst []byte
	for i := len(frames) - 1; i >= 0; i-- {
		if len(dst) > 0 {
			dst = append(dst, ';')
		}
		dst = appendFolded(dst, frames[i].Name())
	}
	return string(dst)
}

// frames writes the member "stack".
func (r *jsonRenderer) frames(frames []*result.Frame, cut bool) {
	r.namedFrames(event.StackName, frames, cut)
}

// namedFrames writes a stack, innermost first. Addresses are texts: they do not
// fit a JavaScript number.
func (r *jsonRenderer) namedFrames(name string, frames []*result.Frame, cut bool) {
	r.buf = appendJSONString(append(r.buf, ','), name)
	r.buf = append(r.buf, ":["...)
	for i := range frames {
		f := frames[i]
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = strconv.AppendUint(append(r.buf, `{"addr":"0x`...), f.Addr, 16)
		r.buf = append(r.buf, '"')
		if f.Symbol != "" {
			r.buf = appendJSONString(append(r.buf, `,"symbol":`...), f.Symbol)
			r.buf = strconv.AppendUint(append(r.buf, `,"offset":`...), f.Offset, 10)
		}
		for _, m := range [...]struct{ name, text string }{
			{`,"dso":`, f.DSO},
			{`,"build_id":`, f.BuildID},
			{`,"file":`, f.File},
		} {
			if m.text != "" {
				r.buf = appendJSONString(append(r.buf, m.name...), m.text)
			}
		}
		if f.File != "" {
			r.buf = strconv.AppendInt(append(r.buf, `,"line":`...), int64(f.Line), 10)
		}
		if f.Inline {
			r.buf = append(r.buf, `,"inline":true`...)
		}
		if f.Kernel {
			r.buf = append(r.buf, `,"kernel":true`...)
		}
		r.buf = append(r.buf, '}')
	}
	r.buf = append(r.buf, ']')
	if cut {
		r.buf = appendJSONString(append(r.buf, ','), name+"_cut")
		r.buf = append(r.buf, ":true"...)
	}
}
