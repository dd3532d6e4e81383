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
