package dso

import (
	"debug/elf"
	"testing"
)

// The code of a debug file is where a mapping of its size was, if just one fits.
func TestPlaceOfCode(t *testing.T) {
	code := func(vaddr, memsz uint64) elf.ProgHeader {
		return elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R | elf.PF_X, Vaddr: vaddr, Memsz: memsz}
	}
	data := elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R, Memsz: 0x2000}
	for name, c := range map[string]struct {
		load   []elf.ProgHeader
		mapped []extent
		off    uint64 // of a byte of the file
		want   uint64 // its address; 0 is none
	}{
		"as linked": {[]elf.ProgHeader{data, code(0x401000, 0x281)}, []extent{{0x1000, 0x1000}},
			0x1010, 0x401010},
		"within a page": {[]elf.ProgHeader{data, code(0x201e40, 0x1300)}, []extent{{0x0, 0x3000}},
			0xe50, 0x201e50},
		"of several mappings": {[]elf.ProgHeader{code(0x5000, 0x1800)},
			[]extent{{0x9000, 0x1000}, {0x3000, 0x2000}}, 0x3800, 0x5800},
		"another size": {[]elf.ProgHeader{code(0x5000, 0x1800)}, []extent{{0x3000, 0x3000}}, 0x3800, 0},
		"two that fit": {[]elf.ProgHeader{code(0x5000, 0x1800), code(0x9000, 0x1800)},
			[]extent{{0x3000, 0x2000}}, 0x3800, 0},
		"no code":  {[]elf.ProgHeader{data}, []extent{{0x0, 0x2000}}, 0x10, 0},
		"unmapped": {[]elf.ProgHeader{code(0x5000, 0x1800)}, nil, 0x10, 0},
	} {
		im := &Image{load: c.load}
		ok := im.place(c.mapped)
		if ok != (c.want != 0) {
			t.Errorf("%s: got %v, want %v", name, ok, c.want != 0)
			continue
		}
		if addr, _ := im.Addr(c.off); ok && addr != c.want {
			t.Errorf("%s: got %#x, want %#x", name, addr, c.want)
		}
	}
}
