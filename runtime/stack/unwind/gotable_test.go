package unwind

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"
)

// A goFunc is a function of a table that a test makes: its size, and pairs of
// a depth and how many instructions have it.
type goFunc struct {
	size  uint32
	flag  uint8
	depth [][2]int
}

// goTableBytes makes a section .gopclntab as Go 1.20 and later do.
func goTableBytes(quantum byte, funcs ...goFunc) []byte {
	const head = 8 + 8*8
	pctab := []byte{0} // offset 0 is no table
	var table, infos []byte
	entry, infoAt := uint32(0), uint32(8*len(funcs)+4)
	for _, f := range funcs {
		info := make([]byte, 44)
		binary.LittleEndian.PutUint32(info, entry)
		if len(f.depth) > 0 {
			binary.LittleEndian.PutUint32(info[goPCSP:], uint32(len(pctab)))
		}
		info[goFlag120] = f.flag
		last := -1
		for _, d := range f.depth {
			change := int64(d[0] - last)
			pctab = binary.AppendUvarint(pctab, uint64(change)<<1^uint64(change>>63))
			pctab = binary.AppendUvarint(pctab, uint64(d[1]))
			last = d[0]
		}
		pctab = append(pctab, 0)
		table = binary.LittleEndian.AppendUint32(table, entry)
		table = binary.LittleEndian.AppendUint32(table, infoAt+uint32(len(infos)))
		infos = append(infos, info...)
		entry += f.size
	}
	table = binary.LittleEndian.AppendUint32(table, entry)
	data := binary.LittleEndian.AppendUint32(nil, goMagic120)
	data = append(data, 0, 0, quantum, 8)
	for _, word := range []int{len(funcs), 0, 0, head, head, head, head, head + len(pctab)} {
		data = binary.LittleEndian.AppendUint64(data, uint64(word))
	}
	return append(append(append(data, pctab...), table...), infos...)
}

// A function with a frame, one without, and a first one.
var goFuncs = []goFunc{
	{size: 0x40, depth: [][2]int{{0, 4}, {0x28, 0x38}, {0, 4}}},
	{size: 0x20},
	{size: 0x10, flag: goTopFrame, depth: [][2]int{{0, 0x10}}},
	{size: 0x10, flag: goSPWrite, depth: [][2]int{{8, 0x10}}},
}

func TestGoTable(t *testing.T) {
	f := func(a *arch, quantum byte, addr uint64, cfa, ra string) {
		t.Helper()
		funcs := slices.Clone(goFuncs)
		for i := range funcs {
			funcs[i].depth = slices.Clone(funcs[i].depth)
			for j := range funcs[i].depth {
				funcs[i].depth[j][1] /= int(quantum)
			}
		}
		table, _, err := parseGoTable(a, goTableBytes(quantum, funcs...), 0x1000)
		if err != nil {
			t.Fatal(err)
		}
		gotCFA, gotRA := "none", ""
		if r := table.find(addr); r != nil {
			gotCFA, gotRA = describe(table, r, func(int) string { return "sp" })
		}
		if gotCFA != cfa || gotRA != ra {
			t.Errorf("%#x: got %s %s, want %s %s", addr, gotCFA, gotRA, cfa, ra)
		}
	}
	f(&amd64, 1, 0xfff, "none", "")
	f(&amd64, 1, 0x1000, "sp+8", "c-8")
	f(&amd64, 1, 0x1004, "sp+48", "c-8")
	f(&amd64, 1, 0x103b, "sp+48", "c-8")
	f(&amd64, 1, 0x103c, "sp+8", "c-8")
	f(&amd64, 1, 0x1050, "sp+8", "c-8")
	f(&amd64, 1, 0x1060, "sp+8", "c-8")
	f(&amd64, 1, 0x1070, "sp+16", "c-8")
	f(&amd64, 1, 0x1080, "none", "")
	f(&arm64, 4, 0x1000, "sp+0", "u") // in the link register
	f(&arm64, 4, 0x1004, "sp+40", "c-40")
	f(&arm64, 4, 0x1060, "sp+0", "u")
	if _, switches, err := parseGoTable(&amd64, goTableBytes(1, goFuncs...), 0x1000); err != nil ||
		!slices.Equal(switches, []span{{0x1070, 0x1080}}) {
		t.Errorf("other stacks: got %x (%v), want the last function", switches, err)
	}
	table, _, err := parseGoTable(&arm64,
		goTableBytes(4, goFunc{size: 8, flag: goTopFrame, depth: [][2]int{{0, 2}}}), 0x1000)
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{arch: &arm64, pc: 0x1000}
	w.regs[31], w.regs[30] = 0x7000, 0x4444
	if s := w.byRules(table, table.find(0x1000), true); s != stepEnd {
		t.Errorf("the first function: got %v, want stepEnd", s)
	}
}

func FuzzGoTable(f *testing.F) {
	f.Add(goTableBytes(1, goFuncs...), uint64(0x1010))
	f.Add(goTableBytes(4, goFuncs...), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, start uint64) {
		for _, m := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
			table, _, err := parseGoTable(archOf(m), data, start)
			if (table == nil) == (err == nil) {
				t.Fatalf("got %v and %v, want one", table, err)
			}
			if err != nil {
				continue
			}
			if !slices.IsSorted(table.pcs) || len(table.pcs) > len(data)*len(data)+16 {
				t.Fatalf("got %d rows of %d bytes", len(table.pcs), len(data))
			}
		}
	})
}
