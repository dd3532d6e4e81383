package interpreter

import (
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"ppscript/bpf/interpreted"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/unwind"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/target/task"
)

// This file finds the interpreter of a process: the file that has it, and where that is mapped.

// A carrier is a file that has an interpreter, as far as it matters. Addresses are as the file counts.
type carrier struct {
	config interpreted.Config
	eval   []unwind.Piece // the interpreter's own function, in whose places the frames come
	// reader reads functions where the file is mapped; by is added to its addresses.
	reader func(by uint64) reader
}

// evaluates reports that an address is in the interpreter's own function.
//
// Fast path.
func (p *process) evaluates(addr uint64) bool {
	for i := range p.eval {
		if p.eval[i].Has(addr) {
			return true
		}
	}
	return false
}

// pieceOf is the code that a symbol names.
func pieceOf(s elf.Symbol) unwind.Piece { return unwind.Piece{From: s.Value, To: s.Value + s.Size} }

// maxSymbols bounds a table of symbols that is looked through, in bytes.
const maxSymbols = 16 << 20

// symbols finds symbols of a file, by name; false if one is missing.
func symbols(im *dso.Image, names ...string) (map[string]elf.Symbol, bool) {
	found := map[string]elf.Symbol{}
	look := func(read func() ([]elf.Symbol, error), in *elf.Section) {
		if in == nil || in.Size > maxSymbols || len(found) == len(names) {
			return
		}
		list, err := read()
		if err != nil {
			return
		}
		for i := range list {
			for _, name := range names {
				if list[i].Name == name && list[i].Value != 0 {
					found[name] = list[i]
				}
			}
		}
	}
	look(im.DynamicSymbols, im.SectionByType(elf.SHT_DYNSYM))
	look(im.Symbols, im.SectionByType(elf.SHT_SYMTAB))
	return found, len(found) == len(names)
}

// A process is one with an interpreter.
type process struct {
	pid       int32
	unknown   uint64 // the number of the frame of functions that could not be read
	config    interpreted.Config
	eval      []unwind.Piece // the interpreter's own function
	read      reader
	functions map[object]function
	inner     map[int32]int32 // numbers of threads in their own namespace, where frames are followed late
}

// object is a code object of a process; another one that lies there later has another check.
type object struct{ at, check uint64 }

// processOf finds the interpreter of a process, nil if it has none.
func (w *Walker) processOf(s *task.Space) *process {
	for _, r := range s.Regions() {
		if r.File == nil {
			continue
		}
		l := languageOf(r.File.Name())
		if l == nil {
			continue
		}
		im, err := r.File.Image()
		if err != nil {
			continue
		}
		b, known := w.binaries[r.File]
		if !known {
			if im.Machine == elf.EM_X86_64 && im.Class == elf.ELFCLASS64 {
				b = l.carrier(im, r.File.Name())
			}
			w.binaries[r.File] = b
		}
		if b == nil {
			continue
		}
		addr, ok := im.Addr(r.Off)
		if !ok {
			continue
		}
		by := r.Start - addr
		p := &process{pid: s.PID, unknown: l.unknown(w), config: b.config,
			read: b.reader(by), functions: map[object]function{}}
		p.config.Head += by
		for _, e := range b.eval {
			p.eval = append(p.eval, unwind.Piece{From: e.From + by, To: e.To + by})
		}
		return p
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
		if languageOf(exe) != nil {
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
