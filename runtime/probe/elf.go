package probe

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"ppscript/runtime/dso"
	"ppscript/runtime/glob"
	"ppscript/runtime/symbol"
)

// This file reads the functions of an ELF file with their addresses, and turns an address into a file
// offset. Files come from anywhere: package dso bounds how much of one is read.

// A function is a symbol that code can be probed at.
type function struct {
	name string // as in the file
	addr uint64
	size uint64 // 0 if unknown
}

// An image is an open ELF file.
type image struct {
	*dso.Image

	funcs     []function // by address; nil until they are read
	path      string     // to find its debug file; empty for none
	close     func() error
	demangled map[string][]int // indices into funcs
	extended  bool
	// signatures are read when the first function is asked for; told says that was so.
	signatures *symbol.Signatures
	told       bool
}

func openImage(r io.ReaderAt, size int64) (*image, error) {
	f, err := dso.ReadImage(r, size)
	if err != nil {
		return nil, err
	}
	return &image{Image: f}, nil
}

// functions lists the functions by address. Tables that cannot be read are
// left out: a stripped file has no symbols, which is no fault.
func (m *image) functions() []function {
	if m.funcs != nil {
		return m.funcs
	}
	seen := map[function]bool{}
	add := func(name string, addr, size uint64) {
		fn := function{name, addr, size}
		if name != "" && addr != 0 && !seen[fn] {
			seen[fn] = true
			m.funcs = append(m.funcs, fn)
		}
	}
	for _, read := range []func() ([]elf.Symbol, error){m.Symbols, m.DynamicSymbols} {
		syms, err := read()
		if err != nil {
			continue
		}
		for _, s := range syms {
			typ := elf.ST_TYPE(s.Info)
			if s.Section != elf.SHN_UNDEF && (typ == elf.STT_FUNC || typ == elf.STT_NOTYPE && m.inText(s)) {
				add(s.Name, s.Value, s.Size)
			}
		}
	}
	if m.funcs == nil {
		m.funcs = []function{}
	}
	m.sort()
	return m.funcs
}

func (m *image) sort() {
	slices.SortStableFunc(m.funcs, func(a, b function) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
}

// inText reports that a symbol without a type lies in code: assembly.
func (m *image) inText(s elf.Symbol) bool {
	return int(s.Section) < len(m.Sections) && m.Sections[s.Section].Flags&elf.SHF_EXECINSTR != 0 &&
		s.Size > 0
}

// extend adds functions that the file's own symbol tables do not list, but its
// debug file, its compressed symbols or Go's table do. Package symbol reads
// those; it keeps one name of each address, so the own tables, with all their
// aliases, go first.
func (m *image) extend() {
	if m.extended || m.path == "" {
		return
	}
	m.extended = true
	have := map[uint64]bool{}
	for _, fn := range m.functions() {
		have[fn.addr] = true
	}
	more, err := symbol.OpenFileSymbols(m.path)
	if err != nil {
		return // as if it had none
	}
	defer more.Close()
	for i := range more.Len() {
		f := more.At(i)
		if !have[f.Addr] && !strings.HasSuffix(f.Name, "@plt") {
			m.funcs = append(m.funcs, function{f.Name, f.Addr, f.Size})
		}
	}
	m.sort()
	m.demangled = nil
}

// find returns the functions of exactly that name, mangled or not. A version
// behind @ is not part of a name.
func (m *image) find(name string) []function {
	found := m.findKnown(name)
	if len(found) == 0 && !m.extended {
		m.extend()
		found = m.findKnown(name)
	}
	return found
}

func (m *image) findKnown(name string) []function {
	var found []function
	at := map[uint64]bool{}
	add := func(fn function) {
		if !at[fn.addr] {
			at[fn.addr] = true
			found = append(found, fn)
		}
	}
	for _, fn := range m.functions() {
		if fn.name == name {
			add(fn)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, i := range m.plainNames()[name] {
		add(m.funcs[i])
	}
	return found
}

// match returns the functions whose name, mangled or not, matches a pattern.
func (m *image) match(pattern string) []function {
	m.extend()
	var found []function
	at := map[uint64]bool{}
	for _, fn := range m.functions() {
		if !at[fn.addr] && glob.Match(pattern, fn.name) {
			at[fn.addr] = true
			found = append(found, fn)
		}
	}
	if len(found) > 0 {
		return found
	}
	for plain, is := range m.plainNames() {
		if !glob.Match(pattern, plain) {
			continue
		}
		for _, i := range is {
			if fn := m.funcs[i]; !at[fn.addr] {
				at[fn.addr] = true
				found = append(found, fn)
			}
		}
	}
	slices.SortFunc(found, func(a, b function) int { return int(int64(a.addr>>1) - int64(b.addr>>1)) })
	return found
}

// plainNames maps the names that a programmer writes, with and without
// parameters, to functions: C++, Rust.
func (m *image) plainNames() map[string][]int {
	if m.demangled != nil {
		return m.demangled
	}
	m.demangled = map[string][]int{}
	for i, fn := range m.functions() {
		if !strings.HasPrefix(fn.name, "_Z") && !strings.HasPrefix(fn.name, "_R") {
			continue
		}
		seen := map[string]bool{}
		add := func(plain string) {
			if plain != fn.name && !seen[plain] {
				seen[plain] = true
				m.demangled[plain] = append(m.demangled[plain], i)
			}
		}
		add(symbol.Demangle(fn.name))
		for _, opts := range [][]demangle.Option{
			{}, {demangle.NoParams}, {demangle.NoParams, demangle.NoTemplateParams},
		} {
			add(demangle.Filter(fn.name, opts...))
		}
	}
	return m.demangled
}

// names lists all names, for a suggestion.
func (m *image) names() []string {
	var names []string
	for _, fn := range m.functions() {
		names = append(names, fn.name)
	}
	for plain := range m.plainNames() {
		names = append(names, plain)
	}
	return names
}

// at is the function that holds an address.
func (m *image) at(addr uint64) (function, bool) {
	m.extend()
	fns := m.functions()
	i, exact := slices.BinarySearchFunc(fns, addr, func(f function, a uint64) int {
		switch {
		case f.addr < a:
			return -1
		case f.addr > a:
			return 1
		}
		return 0
	})
	if exact {
		return fns[i], true
	}
	if i > 0 && addr-fns[i-1].addr < fns[i-1].size {
		return fns[i-1], true
	}
	return function{}, false
}

// errNotExecutable is the reason when a probe would not be in code.
var errNotExecutable = errors.New("not in executable code of the file")

// codeOffset turns an address in code into a file offset.
func (m *image) codeOffset(addr uint64) (uint64, error) { return m.offset(addr, elf.PF_X) }

// offset turns an address of a segment with all these flags into a file
// offset.
func (m *image) offset(addr uint64, flags elf.ProgFlag) (uint64, error) {
	for _, p := range m.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&flags == flags && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return addr - p.Vaddr + p.Off, nil
		}
	}
	if flags&elf.PF_X != 0 {
		return 0, errNotExecutable
	}
	return 0, fmt.Errorf("address 0x%x is not in the file", addr)
}

// address is the inverse of codeOffset.
func (m *image) address(off uint64) (uint64, error) {
	for _, p := range m.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && off >= p.Off && off-p.Off < p.Filesz {
			return off - p.Off + p.Vaddr, nil
		}
	}
	return 0, errNotExecutable
}

// maxFunction bounds the code that is decoded of one function, in bytes.
const maxFunction = 4 << 20

// code reads the instructions of a function.
func (m *image) code(fn function) ([]byte, error) {
	if fn.size == 0 || fn.size > maxFunction {
		return nil, fmt.Errorf("function %s has no known size", fn.name)
	}
	for _, p := range m.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && fn.addr >= p.Vaddr &&
			fn.addr-p.Vaddr < p.Filesz {
			if fn.size > p.Filesz-(fn.addr-p.Vaddr) {
				return nil, fmt.Errorf("function %s does not end in the file", fn.name)
			}
			b := make([]byte, fn.size)
			_, err := p.ReadAt(b, int64(fn.addr-p.Vaddr))
			return b, err
		}
	}
	return nil, errNotExecutable
}
