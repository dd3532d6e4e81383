package unwind

import (
	"debug/elf"
	"encoding/binary"
	"unsafe"

	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/symbol"
)

// This file reads the tables of a file for walks, once.

// A module is one file with the tables that walks need.
type module struct {
	tables []*ruleTable
	load   []segment
	ends   []span // functions without a caller, although the tables have one
	// switches are functions whose callers are on another stack.
	switches []span
	signal   []span // code to which signal handlers return, if the tables do not mark it
	stubs    []span // the procedure linkage table
	places   [256]place
	bytes    int
}

// segment is executable code: file offsets [off, off+size) are at addr.
type segment struct{ off, size, addr uint64 }

type span struct{ from, to uint64 }

func in(spans []span, addr uint64) bool {
	for _, s := range spans {
		if addr >= s.from && addr < s.to {
			return true
		}
	}
	return false
}

// addr converts a file offset to an address of the image.
func (m *module) addr(off uint64) (uint64, bool) {
	for i := range m.load {
		if s := &m.load[i]; off-s.off < s.size {
			return off - s.off + s.addr, true
		}
	}
	return 0, false
}

// A place is an address whose rules were looked up.
type place struct {
	addr  uint64
	table *ruleTable
	rules *ruleSet
}

// rules returns the rules at an address of the image, nil if there are none.
//
// Fast path: the same callers occur repeatedly.
func (m *module) rules(addr uint64) (*ruleTable, *ruleSet) {
	p := &m.places[(addr^addr>>8)%uint64(len(m.places))]
	if p.addr == addr && p.rules != nil {
		return p.table, p.rules
	}
	for _, t := range m.tables {
		if r := t.find(addr); r != nil {
			*p = place{addr, t, r}
			return t, r
		}
	}
	return nil, nil
}

// firstFunction is the least length of the C library's first function after its call of main's
// caller.
const firstFunction = 36

// loadModule reads a file's tables. A file that cannot be read has none.
func loadModule(store *dso.Store, f *dso.File) *module {
	m := &module{bytes: int(unsafe.Sizeof(module{}))}
	im, err := f.Image()
	if err != nil || im.Class != elf.ELFCLASS64 || im.ByteOrder != binary.LittleEndian {
		return m
	}
	for _, p := range im.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			// Mappings begin and end at pages.
			lead := p.Off & 0xfff
			m.load = append(m.load, segment{p.Off - lead, p.Filesz + lead, p.Vaddr - lead})
		}
	}
	for _, name := range []string{".plt", ".plt.sec", ".plt.got", ".iplt"} {
		if s := im.Section(name); s != nil {
			m.stubs = append(m.stubs, span{s.Addr, s.Addr + s.Size})
		}
	}
	m.take(ehFrame(im))
	if len(m.tables) == 0 { // .eh_frame has the same rules, and more
		if t, err := sframeRules(im); err == nil && t != nil {
			m.tables = append(m.tables, t)
			// The first function has no caller, which version 1 cannot express.
			m.ends = append(m.ends, span{im.Entry, im.Entry + firstFunction})
		}
	}
	if t, switches, err := goRules(im); err == nil && t != nil {
		m.tables = append(m.tables, t) // .debug_frame has the same rules
		m.switches = switches
	} else {
		m.take(debugFrame(im))
	}
	if len(m.tables) == 0 && store != nil {
		if d := store.Debug(f); d != nil {
			if dim, err := d.Image(); err == nil {
				m.take(debugFrame(dim))
			}
		}
	}
	if im.Go() || f.Path == "[vdso]" {
		m.special(store, f)
	}
	for _, t := range m.tables {
		m.bytes += t.Bytes()
	}
	return m
}

func (m *module) take(s section, ok bool) {
	if !ok {
		return
	}
	if t, err := parseCFI(s); err == nil {
		m.tables = append(m.tables, t)
	}
}

// special finds the functions that walks handle specially, by their names. Go's
// first functions have no caller, but their stack is not empty.
func (m *module) special(store *dso.Store, f *dso.File) {
	t, err := symbol.ReadTable(store, f)
	if err != nil {
		return
	}
	for i := range t.Len() {
		fn := t.At(i)
		at := span{fn.Addr, fn.Addr + fn.Size}
		switch fn.Name {
		case "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart", "runtime.mstart.abi0",
			"runtime.rt0_go", "runtime.rt0_go.abi0", "_rt0_amd64_linux", "_rt0_arm64_linux",
			"runtime.clone", "runtime.clone.abi0", "_cgo_topofstack":
			m.ends = append(m.ends, at)
		case "runtime.systemstack", "runtime.systemstack.abi0", "runtime.mcall", "runtime.mcall.abi0",
			"runtime.morestack", "runtime.morestack.abi0", "runtime.asmcgocall", "runtime.asmcgocall.abi0",
			"runtime.mcall.abiinternal", "runtime.systemstack.abiinternal":
			m.switches = append(m.switches, at)
		case "runtime.sigreturn__sigaction", "runtime.sigreturn__sigaction.abi0", "runtime.sigreturn",
			"runtime.sigreturn.abi0",
			"__kernel_rt_sigreturn":
			m.signal = append(m.signal, at)
		}
	}
}

// ehFrame returns the section .eh_frame, found by the program headers if the
// file has no section headers.
func ehFrame(im *dso.Image) (section, bool) {
	s := section{Word: 8}
	if h := im.Section(".eh_frame_hdr"); h != nil {
		s.Base = h.Addr
	}
	if e := im.Section(".eh_frame"); e != nil {
		data, err := im.SectionData(e)
		s.Data, s.Addr = data, e.Addr
		return s, err == nil && len(data) > 0
	}
	for _, p := range im.Progs {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		// struct: version 1, encodings of the pointer, the count and the
		// table, then the pointer to .eh_frame.
		head := im.Bytes(p.Vaddr, 12)
		if len(head) < 12 || head[0] != 1 {
			return s, false
		}
		s.Base = p.Vaddr
		c := cursor{b: head, at: 4}
		at, ok := s.pointer(&c, head[1], p.Vaddr+4, 8)
		if !ok {
			return s, false
		}
		for _, l := range im.Progs {
			if l.Type == elf.PT_LOAD && at >= l.Vaddr && at-l.Vaddr < l.Filesz &&
				l.Filesz-(at-l.Vaddr) <= dso.MaxSection {
				s.Data, s.Addr = im.Bytes(at, int(l.Filesz-(at-l.Vaddr))), at
				return s, len(s.Data) > 0
			}
		}
	}
	return s, false
}

// debugFrame returns the section .debug_frame, which Go writes instead.
func debugFrame(im *dso.Image) (section, bool) {
	data, err := im.Data(".debug_frame")
	return section{Data: data, Debug: true, Word: 8}, err == nil && len(data) > 0
}
