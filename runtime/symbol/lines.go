package symbol

import "ppscript/runtime/object"

// lineInfo is what DWARF tells about a file.
type lineInfo struct{}

func (s *Symbolizer) withLines(f Frame, file *object.File, addr uint64) []Frame {
	return []Frame{f}
}
