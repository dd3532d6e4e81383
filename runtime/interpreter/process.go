package interpreter

import (
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"ppscript/runtime/dso"
	"ppscript/runtime/privilege"
	"ppscript/runtime/task"
)

// This file finds the interpreter of a process: the file that has it, and where that is mapped.

// A carrier is a file that has an interpreter, as far as it matters.
type carrier struct {
	layout   layout
	ok       bool
	runtime  uint64 // addresses as the file counts: _PyRuntime,
	codeType uint64 // PyCode_Type,
	eval     uint64 // and _PyEval_EvalFrameDefault
	evalSize uint64
}

// maxSymbols bounds a table of symbols that is looked through, in bytes.
const maxSymbols = 16 << 20

// readBinary looks at a file.
func readBinary(f *dso.File, minor int) (b carrier) {
	im, err := f.Image()
	if err != nil || im.Machine != elf.EM_X86_64 || im.Class != elf.ELFCLASS64 {
		return b
	}
	b.find(im.DynamicSymbols, im.SectionByType(elf.SHT_DYNSYM))
	if b.runtime == 0 || b.eval == 0 || b.codeType == 0 {
		b.find(im.Symbols, im.SectionByType(elf.SHT_SYMTAB))
	}
	if b.runtime == 0 || b.codeType == 0 {
		return b
	}
	b.layout, b.ok = layoutOf(minor, im.Bytes(b.runtime, debugSize))
	return b
}

func (b *carrier) find(read func() ([]elf.Symbol, error), in *elf.Section) {
	if in == nil || in.Size > maxSymbols {
		return
	}
	list, err := read()
	if err != nil {
		return
	}
	for i := range list {
		switch s := &list[i]; s.Name {
		case "_PyRuntime":
			b.runtime = s.Value
		case "PyCode_Type":
			b.codeType = s.Value
		case "_PyEval_EvalFrameDefault":
			b.eval, b.evalSize = s.Value, s.Size
		}
	}
}

// A process is one with an interpreter.
type process struct {
	pid      int32
	layout   *layout
	head     uint64
	codeType uint64
	eval     [2]uint64 // begin and end of the interpreter's own function
	codes    map[object]*code
}

// object is a code object of a process; another one that lies there later has another check.
type object struct{ at, check uint64 }

// processOf finds the interpreter of a process, nil if it has none.
func (w *Walker) processOf(s *task.Space) *process {
	for _, r := range s.Regions() {
		if r.File == nil {
			continue
		}
		minor, ok := minorOf(r.File.Name())
		if !ok {
			continue
		}
		b, known := w.binaries[r.File]
		if !known {
			b = readBinary(r.File, minor)
			w.binaries[r.File] = b
		}
		im, err := r.File.Image()
		if !b.ok || err != nil {
			continue
		}
		addr, ok := im.Addr(r.Off)
		if !ok {
			continue
		}
		by := r.Start - addr
		return &process{pid: s.PID, layout: &b.layout, head: by + b.runtime + b.layout.head,
			codeType: by + b.codeType, eval: [2]uint64{by + b.eval, by + b.eval + b.evalSize},
			codes: map[object]*code{}}
	}
	return nil
}

// Runs reports that some process that runs now is an interpreter's own program.
func Runs() bool {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, d := range list {
		if c := d.Name()[0]; c < '0' || c > '9' {
			continue
		}
		exe, link := "", filepath.Join("/proc", d.Name(), "exe")
		privilege.Raise(privilege.Processes, func() { exe, _ = os.Readlink(link) })
		if _, ok := minorOf(exe); ok {
			return true
		}
	}
	return false
}

// readable is the memory of a process.
type readable interface {
	io.ReaderAt
	io.Closer
}

// memory opens the memory of a process.
func memory(pid int32) (readable, error) {
	return privilege.Open(privilege.Processes, filepath.Join("/proc", strconv.Itoa(int(pid)), "mem"))
}
