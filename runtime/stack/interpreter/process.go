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

// This file finds the interpreter of a process: its file, and the address at which the file is
// mapped.

// A carrier has the needed facts about a file with an interpreter. Addresses are addresses in the
// file's tables.
type carrier struct {
	config interpreted.Config
	eval   []unwind.Piece // code of the interpreter's own function, which the frames replace
	// reader returns the reader for a mapping of the file; by is added to the file's
	// addresses.
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

// pieceOf is the code of a symbol.
func pieceOf(s elf.Symbol) unwind.Piece { return unwind.Piece{From: s.Value, To: s.Value + s.Size} }

// maxSymbols bounds a symbol table that is searched, in bytes.
const maxSymbols = 16 << 20

// symbols finds symbols of a file by name; false if one is missing.
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

// A process is a process with an interpreter.
type process struct {
	pid       int32
	unknown   uint64 // number of the frame for functions that could not be read
	config    interpreted.Config
	eval      []unwind.Piece // code of the interpreter's own function
	read      reader
	functions map[object]function
	inner     map[int32]int32 // numbers of threads in their own namespace, for late.go
}

// object identifies a code object of a process; a later object at the same address has
// another check.
type object struct{ at, check uint64 }

// processOf finds the interpreter of a process; nil if it has none.
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

// Runs reports that some running process is a program of an interpreter, such
// as python.
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

// readable is the interface for reading the memory of a process.
type readable interface {
	io.ReaderAt
	io.Closer
}

// memory opens the memory of a process.
func memory(pid int32) (readable, error) {
	return privilege.Open(privilege.Processes, filepath.Join("/proc", strconv.Itoa(int(pid)), "mem"))
}
