package render

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// This file writes frames of stacks: as lines below an event or a count, as
// names in folded stacks and flame graphs, and as members of JSON records.

// appendFrameLine appends a frame as a line, without the line end:
//
//	ffffffff816c51a3 __schedule+0x4f3 ([kernel.kallsyms])
//	                 handle_request (/srv/app/server.py:42)
//	                 array_map ([php])
func appendFrameLine(dst []byte, f *result.Frame) []byte {
	dst = append(dst, "    "...)
	if f.IsLabel() {
		return append(dst, f.Symbol...)
	}
	if f.IsInterpreted() {
		dst = append(dst, "                 "...)
		if f.Symbol == "" {
			return append(dst, f.DSO...)
		}
		dst = append(plain.Append(dst, f.Symbol), " ("...)
		if f.File == "" {
			return append(append(dst, f.DSO...), ')')
		}
		dst = plain.Append(dst, f.File)
		return append(strconv.AppendInt(append(dst, ':'), int64(f.Line), 10), ')')
	}
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

// cutLine is shown below a stack whose outer frames are missing.
const cutLine = "    (cut: outer frames are missing)\n"

// appendFrameLines appends the lines of a whole stack.
func appendFrameLines(dst []byte, s result.CallStack) []byte {
	for _, f := range s.Frames {
		dst = append(appendFrameLine(dst, f), '\n')
	}
	if s.Cut {
		dst = append(dst, cutLine...)
	}
	return dst
}

// StackText returns a stack as one line in the form of folded stacks: outermost
// first.
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
func (r *jsonRenderer) frames(s result.CallStack) {
	r.namedFrames(event.StackName, s)
}

// namedFrames writes a stack, innermost first. Addresses are texts, since they
// do not fit into JavaScript's numbers.
func (r *jsonRenderer) namedFrames(name string, s result.CallStack) {
	r.buf = appendJSONString(append(r.buf, ','), name)
	r.buf = append(r.buf, ":["...)
	for i, f := range s.Frames {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = strconv.AppendUint(append(r.buf, `{"addr":"0x`...), f.Addr, 16)
		r.buf = append(r.buf, '"')
		if f.Symbol != "" {
			r.buf = appendJSONString(append(r.buf, `,"symbol":`...), f.Symbol)
			r.buf = strconv.AppendUint(append(r.buf, `,"offset":`...), f.Offset, 10)
		} else if f.BuildID != "" {
			// A reader with the file can find the name later.
			r.buf = strconv.AppendUint(append(r.buf, `,"file_offset":`...), f.Offset, 10)
		}
		r.buf = append(appendFrameMembers(r.buf, f), '}')
	}
	r.buf = append(r.buf, ']')
	if s.Cut {
		r.buf = appendJSONString(append(r.buf, ','), name+"_cut")
		r.buf = append(r.buf, ":true"...)
	}
}

// appendFrameMembers appends the known members of a frame except its name and
// address.
func appendFrameMembers(dst []byte, f *result.Frame) []byte {
	for _, m := range [...]struct{ name, text string }{
		{`,"dso":`, f.DSO},
		{`,"build_id":`, f.BuildID},
		{`,"file":`, f.File},
	} {
		if m.text != "" {
			dst = appendJSONString(append(dst, m.name...), m.text)
		}
	}
	if f.File != "" {
		dst = strconv.AppendInt(append(dst, `,"line":`...), int64(f.Line), 10)
	}
	if f.Inline {
		dst = append(dst, `,"inline":true`...)
	}
	if f.Kernel {
		dst = append(dst, `,"kernel":true`...)
	}
	return dst
}

// A frameList numbers the functions of a result of stacks, in the order of their first use.
// Frames at different addresses of a function have the same number.
type frameList struct {
	index   map[*result.Frame]int
	numbers map[result.Frame]int
	frames  []result.Frame
}

// append appends the member "stack" as numbers.
func (l *frameList) append(dst []byte, x *result.StackSample) []byte {
	if l.index == nil {
		l.index, l.numbers = map[*result.Frame]int{}, map[result.Frame]int{}
	}
	dst = append(dst, `,"stack":[`...)
	for i, f := range x.Frames {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(l.number(f)), 10)
	}
	dst = append(dst, ']')
	if x.Cut {
		dst = append(dst, `,"stack_cut":true`...)
	}
	return dst
}

func (l *frameList) number(f *result.Frame) int {
	if n, ok := l.index[f]; ok {
		return n
	}
	same := result.Frame{Symbol: f.Symbol, DSO: f.DSO, BuildID: f.BuildID, File: f.File, Line: f.Line,
		Inline: f.Inline, Kernel: f.Kernel}
	if f.Symbol == "" && f.DSO == "" {
		same.Addr = f.Addr
	}
	n, ok := l.numbers[same]
	if !ok {
		n = len(l.frames)
		l.frames = append(l.frames, same)
		l.numbers[same] = n
	}
	l.index[f] = n
	return n
}

// frameMembers writes the member "frames".
func (r *jsonRenderer) frameMembers(l *frameList) {
	r.buf = append(r.buf, `,"frames":[`...)
	for i := range l.frames {
		f := &l.frames[i]
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = appendJSONString(append(r.buf, `{"name":`...), f.Name())
		r.buf = append(appendFrameMembers(r.buf, f), '}')
	}
	r.buf = append(r.buf, ']')
}
