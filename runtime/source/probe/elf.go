package probe

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/text/glob"
)

// This file reads the functions of an ELF file with their addresses, and converts addresses to file
// offsets. Files are not trusted: package dso bounds the bytes that are read.

// A function is a symbol at which code can be probed.
type function struct {
	name     string // as written in the file
	addr     uint64
	size     uint64 // 0 if unknown
	indirect bool   // its code chooses the function that is called in its place
	label    bool   // a symbol without a type in a section of code, from assembly
	chosen   string // the indirect function that it implements; empty if it was named itself
}

// An image is an open ELF file.
type image struct {
	*dso.Image

	funcs     []function        // by address; nil until read
	path      string            // for finding its debug file; empty if there is none
	file      *os.File          // nil if the image is in memory
	demangled map[string][]int  // indices into funcs
	slots     map[uint64]uint64 // the result of filled; nil until read
	// signatures are opened when the first function needs one; then warned is true.
	signatures *symbol.Signatures
	warned     bool
}

func openImage(r io.ReaderAt, size int64) (*image, error) {
	f, err := dso.ReadImage(r, size)
	if err != nil {
		return nil, err
	}
	return &image{Image: f}, nil
}

// functions lists the functions by address, with all their names.
func (m *image) functions() []function {
	if m.funcs == nil {
		m.funcs = []function{}
		for _, f := range symbol.Functions(m.Image, m.path) {
			if f.Addr != 0 {
				m.funcs = append(m.funcs, function{
					name: f.Name, addr: f.Addr, size: f.Size, indirect: f.Indirect, label: f.Label,
				})
			}
		}
	}
	return m.funcs
}

// find returns the functions with exactly this name, mangled or not, and the variants that the
// compiler made from them. A version after @ is not part of a name.
func (m *image) find(name string) []function {
	var fns found
	for _, fn := range m.functions() {
		if base, called := m.cutClone(fn.name); fn.name == name || called && base == name {
			fns.add(fn)
		}
	}
	if len(fns.list) > 0 {
		return fns.list
	}
	for _, i := range m.plainNames()[name] {
		fns.add(m.funcs[i])
	}
	return fns.list
}

// match returns the functions whose name, mangled or not, matches a pattern. Parts of functions
// that are never called, stubs that call other functions, and labels do not match.
func (m *image) match(pattern string) []function {
	var fns found
	plain := map[int]bool{}
	for name, is := range m.plainNames() {
		if glob.Match(pattern, name) {
			for _, i := range is {
				plain[i] = true
			}
		}
	}
	for i, fn := range m.functions() {
		if _, called := m.cutClone(fn.name); !called || fn.label || strings.HasSuffix(fn.name, "@plt") {
			continue
		}
		if plain[i] || glob.Match(pattern, fn.name) {
			fns.add(fn)
		}
	}
	return fns.list
}

// cutClone removes the suffixes of a function that the compiler made from another one: f.isra.0 is
// f with other parameters. called is false for parts to which f jumps, since a jump is not a call.
func (m *image) cutClone(name string) (base string, called bool) {
	called = true
	for {
		i := strings.LastIndexByte(name, '.')
		if i <= 0 {
			return name, called
		}
		suffix := name[i+1:]
		if suffix == "cold" && !m.Go() {
			name, called = name[:i], false
			continue
		}
		if suffix == "localalias" {
			name = name[:i]
			continue
		}
		j := strings.LastIndexByte(name[:i], '.')
		if j <= 0 || strings.Trim(suffix, "0123456789abcdef") != "" {
			return name, called
		}
		switch name[j+1 : i] {
		case "part", "cold":
			called = false
		case "isra", "constprop", "lto_priv", "llvm", "clone", "localalias", "__uniq":
		default:
			return name, called
		}
		name = name[:j]
	}
}

// compiledParts lists the functions that the compiler made from the function called
// name.
func (m *image) compiledParts(name string, fns []function) (made []string) {
	for _, fn := range fns {
		if base, _ := m.cutClone(fn.name); base != fn.name && fn.name != name {
			made = append(made, fn.name)
		}
	}
	return made
}

// plainNames maps the names in the source of C++ and Rust, with and without
// parameters, to functions.
func (m *image) plainNames() map[string][]int {
	if m.demangled != nil {
		return m.demangled
	}
	m.demangled = map[string][]int{}
	for i, fn := range m.functions() {
		base, called := m.cutClone(fn.name)
		if !called || !strings.HasPrefix(base, "_Z") && !strings.HasPrefix(base, "_R") {
			continue
		}
		seen := map[string]bool{}
		add := func(plain string) {
			if plain != fn.name && plain != base && !seen[plain] {
				seen[plain] = true
				m.demangled[plain] = append(m.demangled[plain], i)
			}
		}
		add(symbol.Demangle(base))
		for _, opts := range [][]demangle.Option{
			{}, {demangle.NoParams}, {demangle.NoParams, demangle.NoTemplateParams},
		} {
			add(symbol.DemangleWith(base, opts...))
		}
		if strings.HasPrefix(base, "_R") {
			for _, plain := range rustNames(base) {
				add(plain)
			}
		}
	}
	return m.demangled
}

// rustNames returns names of a Rust function without type arguments: for
// <shop::Cart<u32>>::get::<u8>, <shop::Cart>::get and shop::Cart::get.
func rustNames(mangled string) []string {
	plain := symbol.DemangleWith(mangled, demangle.NoParams, demangle.NoTemplateParams)
	plain = strings.ReplaceAll(strings.ReplaceAll(plain, "::<>", ""), "<>", "")
	names := []string{plain}
	if inner, ok := strings.CutPrefix(plain, "<"); ok {
		if typ, rest, ok := strings.Cut(inner, ">::"); ok && !strings.ContainsAny(typ, "<>") {
			typ, _, _ = strings.Cut(typ, " as ")
			names = append(names, typ+"::"+rest)
		}
	}
	return names
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

// at returns the function that contains an address, with the name that stacks
// show.
func (m *image) at(addr uint64) (function, bool) {
	fns := m.functions()
	// i is the index after the functions that begin at addr or before it.
	i := sort.Search(len(fns), func(i int) bool { return fns[i].addr > addr })
	if i == 0 {
		return function{}, false
	}
	if begin := fns[i-1].addr; begin == addr || addr-begin < fns[i-1].size {
		for i > 1 && fns[i-2].addr == begin {
			i--
		}
		return fns[i-1], true
	}
	return function{}, false
}

// found collects functions, one for each address. If a resolver and its indirect function have the
// same address, it keeps the indirect function, which is the one that programs name.
type found struct {
	list []function
	at   map[uint64]int // indices into list
}

func (f *found) add(fn function) {
	if i, ok := f.at[fn.addr]; ok {
		if fn.indirect && !f.list[i].indirect {
			f.list[i] = fn
		}
		return
	}
	if f.at == nil {
		f.at = map[uint64]int{}
	}
	f.at[fn.addr] = len(f.list)
	f.list = append(f.list, fn)
}

// errNotExecutable is the reason for refusing a probe outside of code.
var errNotExecutable = errors.New("not in executable code of the file")

// codeOffset converts an address in code to a file offset.
func (m *image) codeOffset(addr uint64) (uint64, error) { return m.offset(addr, elf.PF_X) }

// offset converts an address in a segment with all these flags to a file
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
