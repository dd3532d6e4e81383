package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
	"ppscript/tests/testkit"
)

// A part is a section of a file that is made for a test.
type part struct {
	name  string
	typ   elf.SectionType
	flags elf.SectionFlag
	size  uint64
	link  uint32
	data  []byte // at its begin; the rest is a hole
}

// sparse writes an ELF file of amd64 with sections of any size, whose bytes are
// holes but for those given.
func sparse(t *testing.T, parts ...part) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hostile")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(at int64, v any) {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(b.Bytes(), at); err != nil {
			t.Fatal(err)
		}
	}
	parts = append(append([]part{{}}, parts...), part{name: ".shstrtab", typ: elf.SHT_STRTAB})
	var names []byte
	for _, p := range parts {
		names = append(append(names, p.name...), 0)
	}
	parts[len(parts)-1].data = names
	at, headers, name := int64(4096), []elf.Section64{}, 0
	for _, p := range parts {
		if p.size == 0 {
			p.size = uint64(len(p.data))
		}
		put(at, p.data)
		headers = append(headers, elf.Section64{
			Name:    uint32(name),
			Type:    uint32(p.typ),
			Flags:   uint64(p.flags),
			Addr:    0x400000,
			Off:     uint64(at),
			Size:    p.size,
			Link:    p.link,
			Entsize: 24,
		})
		at = (at + int64(p.size) + 4095) &^ 4095
		name += len(p.name) + 1
	}
	put(at, headers)
	put(0, elf.Header64{
		Ident:     [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1},
		Type:      uint16(elf.ET_EXEC),
		Machine:   uint16(elf.EM_X86_64),
		Version:   1,
		Shoff:     uint64(at),
		Ehsize:    64,
		Shentsize: 64,
		Shnum:     uint16(len(parts)),
		Shstrndx:  uint16(len(parts) - 1),
	})
	return path
}

var hostileText = part{
	name:  ".text",
	typ:   elf.SHT_PROGBITS,
	flags: elf.SHF_EXECINSTR | elf.SHF_ALLOC,
	size:  1 << 30,
}

// reads reads the table of a file, and returns the messages and the memory that
// it took.
func reads(t *testing.T, path string) (table *Table, said []error, allocated uint64) {
	t.Helper()
	store := dso.NewStore(dso.Options{Note: func(_ *dso.File, err error) { said = append(said, err) }})
	t.Cleanup(func() { store.Close() })
	f, err := store.Open(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table, err = ReadTable(store, f)
	runtime.ReadMemStats(&after)
	if err != nil {
		table = &Table{}
	}
	return table, said, after.TotalAlloc - before.TotalAlloc
}

func syms(n int, name func(i int) uint32) []byte {
	var b bytes.Buffer
	for i := range n {
		binary.Write(&b, binary.LittleEndian, elf.Sym64{
			Name:  name(i),
			Info:  byte(elf.STT_FUNC),
			Shndx: 1,
			Value: 0x400000 + uint64(i)*16,
			Size:  16,
		})
	}
	return b.Bytes()
}

// A file of 2 GiB that is a hole costs its owner nothing; it costs us nothing
// either, and the parts between the holes are found.
func TestHolesOfSymbolTables(t *testing.T) {
	path := sparse(t, hostileText,
		part{
			name: ".symtab",
			typ:  elf.SHT_SYMTAB,
			size: 2 << 30 / 24 * 24,
			link: 3,
			data: syms(3, func(i int) uint32 { return uint32(1 + 2*i) }),
		},
		part{name: ".strtab", typ: elf.SHT_STRTAB, size: 1 << 30, data: []byte("\x00a\x00b\x00c\x00")})
	began := testkit.CPUTime(t)
	table, said, bytes := reads(t, path)
	if table.Len() != 3 || table.At(2).Name != "c" || len(said) != 0 {
		t.Errorf("got %d functions, said %v; want 3 and nothing", table.Len(), said)
	}
	if bytes > 16<<20 {
		t.Errorf("got %d MiB allocated, want hardly any", bytes>>20)
	}
	if took := testkit.CPUTime(t) - began; took > 5*time.Second {
		t.Errorf("got %s of CPU, want hardly any", took)
	}
}

// More functions than there is room for: the first are known, and it is said.
func TestTooManySymbols(t *testing.T) {
	path := sparse(t, hostileText,
		part{
			name: ".symtab",
			typ:  elf.SHT_SYMTAB,
			link: 3,
			data: syms(maxFuncs+1000, func(int) uint32 { return 1 }),
		},
		part{name: ".strtab", typ: elf.SHT_STRTAB, data: []byte("\x00f\x00")})
	table, said, bytes := reads(t, path)
	var large *dso.TooLarge
	if table.Len() != maxFuncs || len(said) != 1 || !errors.As(said[0], &large) {
		t.Errorf("got %d functions, said %v; want %d and that they are too many", table.Len(), said, maxFuncs)
	}
	if bytes > 300<<20 {
		t.Errorf("got %d MiB allocated, want a few times the table's", bytes>>20)
	}
}

// Names that lie in each other: a MiB of text is names of any length.
func TestNamesInNames(t *testing.T) {
	text := append([]byte{0}, bytes.Repeat([]byte("x"), 1<<20)...)
	path := sparse(t, hostileText,
		part{
			name: ".symtab",
			typ:  elf.SHT_SYMTAB,
			link: 3,
			data: syms(1<<16, func(i int) uint32 { return uint32(1<<20 - maxName + i/2) }),
		},
		part{name: ".strtab", typ: elf.SHT_STRTAB, data: append(text, 0)})
	table, said, _ := reads(t, path)
	if table.Bytes() > maxText+18*maxFuncs || len(said) != 1 ||
		!strings.Contains(said[0].Error(), "names of symbols too large") {
		t.Errorf("got %d bytes, said %v; want at most %d, and that names are too large", table.Bytes(),
			said, maxText)
	}
}

// A run that has to end is not kept by a table.
func TestReadingExpires(t *testing.T) {
	path := sparse(t, hostileText,
		part{
			name: ".symtab",
			typ:  elf.SHT_SYMTAB,
			link: 3,
			data: syms(1<<18, func(i int) uint32 { return 1 }),
		},
		part{name: ".strtab", typ: elf.SHT_STRTAB, data: []byte("\x00f\x00")})
	asked := 0
	var said error
	store := dso.NewStore(dso.Options{
		Expired: func() bool { asked++; return asked > 2 },
		Note:    func(_ *dso.File, err error) { said = err },
	})
	defer store.Close()
	f, err := store.Open(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	ReadTable(store, f)
	if !errors.Is(said, dso.ErrExpired) {
		t.Errorf("got %v, want %v", said, dso.ErrExpired)
	}
}

// Debug information, and tables of Go, whose headers promise more than there may
// be.
func TestHostileDebugInformation(t *testing.T) {
	path := sparse(t, hostileText,
		part{name: ".debug_info", typ: elf.SHT_PROGBITS, size: 1 << 30},
		part{name: ".debug_abbrev", typ: elf.SHT_PROGBITS, size: 1 << 30},
		part{name: ".debug_line", typ: elf.SHT_PROGBITS, size: 1 << 30})
	store := dso.NewStore(dso.Options{})
	defer store.Close()
	f, err := store.Open(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	var large *dso.TooLarge
	if l, err := loadLines(store, f); l != nil || !errors.As(err, &large) {
		t.Errorf("lines: got %v, %v; want that they are too large", l, err)
	}
	table := make([]byte, 1<<20)
	word := func(i int, v uint64) { binary.LittleEndian.PutUint64(table[8+8*i:], v) }
	binary.LittleEndian.PutUint32(table, 0xfffffff1)
	table[6], table[7] = 1, 8
	f2 := func(what string, funcs, files uint64, want string) {
		t.Helper()
		word(0, funcs)
		word(1, files)
		word(3, 0)
		word(7, 4096)
		if err := modestGoTable(binary.LittleEndian, table); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
	f2("functions", 1<<40, 1, "too large")
	f2("files", 1, 1<<40, "too large")
	f2("more than the table", 1<<17+1, 1, "not in it")
	for i := range table[200:4000] {
		table[200+i] = 'x'
	}
	for i := 4096; i < len(table); i += 4 { // records anywhere, names in the x's
		binary.LittleEndian.PutUint32(table[i:], 300)
	}
	binary.LittleEndian.PutUint32(table[8+8*7+100:], 0)
	f2("names in names", 1<<15, 1, "too large")
}

// Maps of JIT compilers: only regular files of the process's own user are opened,
// no links, and a long one is read in part.
func TestHostilePerfMaps(t *testing.T) {
	dir := t.TempDir()
	maps := task.NewMappings(task.MappingsOptions{})
	defer maps.Close()
	const pid = 1 << 22 // beyond the kernel's largest
	path := fmt.Sprintf("/tmp/perf-%d.map", pid)
	os.Remove(path)
	defer os.Remove(path)
	// The process is the owner's of the file; of root's file it may be anybody's.
	owner := int64(os.Geteuid())
	look := func(uid int64) string {
		s := New(Options{Maps: maps})
		table := s.jitTable(&task.Space{PID: pid, InnerPID: pid, UID: uid})
		if table == nil {
			return ""
		}
		return table.At(0).Name
	}
	real := filepath.Join(dir, "map")
	if err := os.WriteFile(real, []byte("1000 10 linked\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	if got := look(owner); got != "" {
		t.Errorf("link: got %s, want that it is not followed", got)
	}
	os.Remove(path)
	if err := os.WriteFile(path, []byte("1000 10 own\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := look(owner); got != "own" {
		t.Errorf("file: got %q, want own", got)
	}
	if owner == 0 {
		if got := look(1000); got != "own" {
			t.Errorf("root's: got %q, want own", got)
		}
		owner = 1001
		if err := os.Chown(path, int(owner), int(owner)); err != nil {
			t.Fatal(err)
		}
	}
	if got := look(owner + 1); got != "" {
		t.Errorf("another user's: got %s, want that it is not believed", got)
	}
	endless := strings.NewReader(strings.Repeat("1000 10 "+strings.Repeat("n", 1000)+"\n",
		maxMapText/1000+100))
	table, _, err := readPerfMap(endless, func() bool { return false })
	var large *dso.TooLarge
	if !errors.As(err, &large) || table.Bytes() > maxMapText+18*maxMapFuncs {
		t.Errorf("long: got %v, %d bytes; want that it is too large", err, table.Bytes())
	}
	_, skipped := parsePerfMap([]byte("1000 10 " + strings.Repeat("n", 2*maxMapLine) + "\n2000 10 next\n"))
	if skipped != 1 {
		t.Errorf("long line: got %d left out, want 1", skipped)
	}
}

// The maps of many processes are held within a bound.
func TestPerfMapsAreBounded(t *testing.T) {
	maps := task.NewMappings(task.MappingsOptions{})
	defer maps.Close()
	s := New(Options{Maps: maps})
	for i := range maxJITs + 10 {
		s.jitTable(&task.Space{PID: int32(1<<22 + i), UID: -1})
	}
	if s.jit.Len() > maxJITs {
		t.Errorf("got %d processes, want at most %d", s.jit.Len(), maxJITs)
	}
	s.Resolve(1, 1, 0x1000, event.MaxTime) // works on
}

// allocated is how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// opened is the image of a file that is made for a test.
func opened(t *testing.T, parts ...part) *dso.Image {
	t.Helper()
	store := dso.NewStore(dso.Options{})
	t.Cleanup(func() { store.Close() })
	f, err := store.Open(nil, sparse(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	im, err := f.Image()
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// TestNamesOfDynamicSymbols checks that names that all symbols share are in memory once, and holes
// in their place are not read.
func TestNamesOfDynamicSymbols(t *testing.T) {
	table := part{name: ".dynsym", typ: elf.SHT_DYNSYM, size: 2001 * 24, link: 2}
	long := append(bytes.Repeat([]byte("x"), 1<<20), 0)
	shared := opened(t, table, part{name: ".dynstr", typ: elf.SHT_STRTAB, data: long})
	var list []elf.Symbol
	var err error
	room := allocated(func() { list, err = shared.DynamicSymbols() })
	if room > 16<<20 || len(list) != 2000 {
		t.Errorf("shared: got %d MB for %d symbols, %v, want hardly more than the name", room>>20, len(list),
			err)
	}
	hole := opened(t, table, part{name: ".dynstr", typ: elf.SHT_STRTAB, size: 4 << 30})
	room = allocated(func() { _, err = hole.DynamicSymbols() })
	if large := (*dso.TooLarge)(nil); room > 16<<20 || !errors.As(err, &large) {
		t.Errorf("hole: got %d MB and %v, want that it is too large", room>>20, err)
	}
}

// debugUnit is a unit of version 4 with its abbreviations at an offset.
func debugUnit(abbrev int, entries ...byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(7+len(entries)))
	b = binary.LittleEndian.AppendUint16(b, 4)
	b = binary.LittleEndian.AppendUint32(b, uint32(abbrev))
	return append(append(b, 8), entries...)
}

// Units that begin their tables of abbreviations anywhere in one table: package debug/dwarf makes a table for
// each.
func TestOverlappingAbbreviations(t *testing.T) {
	var abbrev, info []byte
	for i := range 10_000 {
		if i < 500 {
			info = append(info, debugUnit(len(abbrev), 0)...)
		}
		abbrev = append(binary.AppendUvarint(abbrev, uint64(1+i)), 0x11, 0, 0, 0)
	}
	im := opened(t, part{name: ".debug_info", typ: elf.SHT_PROGBITS, data: info},
		part{name: ".debug_abbrev", typ: elf.SHT_PROGBITS, data: append(abbrev, 0)},
		part{name: ".debug_line", typ: elf.SHT_PROGBITS, data: make([]byte, 8)})
	var err error
	room := allocated(func() { _, err = readDWARF(im, nil) })
	if large := (*dso.TooLarge)(nil); room > 16<<20 || !errors.As(err, &large) {
		t.Errorf("got %d MB and %v, want that the tables are too large", room>>20, err)
	}
}

// Abbreviations with numbers that lie far apart take no memory for those between.
func TestAbbreviationsFarApart(t *testing.T) {
	var abbrev, info []byte
	for range 200 {
		info = append(info, debugUnit(len(abbrev), 0)...)
		abbrev = append(binary.AppendUvarint(abbrev, 60_000), 0x11, 0, 0, 0, 0)
	}
	abbrev = append(abbrev, make([]byte, 1<<16)...)
	more := map[string][]byte{".debug_info": bytes.Clone(info), ".debug_abbrev": bytes.Clone(abbrev)}
	var err error
	room := allocated(func() {
		parts := map[string][]byte{".debug_info": info, ".debug_abbrev": abbrev}
		err = joined(parts, more, binary.LittleEndian, func() bool { return false })
	})
	if room > 16<<20 || err == nil {
		t.Errorf("got %d MB and %v, want an error", room>>20, err)
	}
}

// A file of units before DWARF 5, of which none is the one that is looked for, is read once.
func TestManyOldUnits(t *testing.T) {
	im := opened(t,
		part{name: ".debug_info.dwo", typ: elf.SHT_PROGBITS, data: bytes.Repeat(debugUnit(0, 1), 50_000)},
		part{name: ".debug_abbrev.dwo", typ: elf.SHT_PROGBITS, data: []byte{1, 0x11, 0, 0, 0, 0}})
	began := testkit.CPUTime(t)
	u := &unitFile{dwo: &dwoFile{im: im}}
	if _, _, err := u.info(&skeleton{version: 4, id: 7}); !errors.Is(err, errStale) {
		t.Errorf("got %v, want %v", err, errStale)
	}
	if took := testkit.CPUTime(t) - began; took > 5*time.Second {
		t.Errorf("got %s of CPU, want a moment", took)
	}
}

// Functions that all name one long list of ranges: what is kept of each has a bound.
func TestFunctionsOfManyRanges(t *testing.T) {
	var ranges []byte
	for i := range uint64(1 << 16) {
		ranges = binary.LittleEndian.AppendUint64(ranges, 0x400000+2*i)
		ranges = binary.LittleEndian.AppendUint64(ranges, 0x400001+2*i)
	}
	const functions = 20
	entries := append([]byte{1}, bytes.Repeat([]byte{2, 0, 0, 0, 0}, functions)...)
	im := opened(t,
		part{name: ".debug_info", typ: elf.SHT_PROGBITS, data: debugUnit(0, append(entries, 0)...)},
		part{name: ".debug_abbrev", typ: elf.SHT_PROGBITS, data: []byte{1, 0x11, 1, 0, 0, // a unit
			2, 0x2e, 0, 0x55, 0x17, 0, 0, 0}}, // a function with ranges
		part{name: ".debug_ranges", typ: elf.SHT_PROGBITS, data: ranges},
		part{name: ".debug_line", typ: elf.SHT_PROGBITS, data: make([]byte, 8)})
	l, err := readDWARF(im, nil)
	if err != nil {
		t.Fatal(err)
	}
	u := &unit{first: 11}
	if err := l.readFunctions(u); err != nil || len(u.subs) < functions || len(u.subs) > functions<<10 {
		t.Errorf("got %d spans of code and %v, want at most %d of each", len(u.subs), err, 1<<10)
	}
}
