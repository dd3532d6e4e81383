package dso

import (
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// An Image is an ELF file, opened for reading its sections.
type Image struct {
	*elf.File
	of   *File            // nil for an image in memory
	size int64            // size of the file
	load []elf.ProgHeader // headers PT_LOAD, in the order of the file
}

// Image returns the Image of the file. It reads the headers once.
func (f *File) Image() (*Image, error) {
	if f.image != nil || f.err != nil {
		return f.image, f.err
	}
	if f.file == nil && f.mem == nil {
		if err := f.reopen(); err != nil {
			f.err = err
			return nil, err
		}
	}
	size := f.size
	if f.mem != nil {
		size = int64(len(f.mem))
	}
	if f.image, f.err = ReadImage(f, size); f.err == nil {
		f.image.of = f
		if f.bare && !f.image.place(f.extents) {
			f.image, f.err = nil, errGone
		}
	}
	return f.image, f.err
}

// ReadImage reads the ELF headers of a file of size bytes. The Image reads from r later, which must
// stay open as long as it is used. Damaged content is an error, never a panic.
func ReadImage(r io.ReaderAt, size int64) (*Image, error) {
	if err := modest(r, size); err != nil {
		return nil, err
	}
	e, err := elf.NewFile(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	im := &Image{File: e, size: size}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			im.load = append(im.load, p.ProgHeader)
		}
	}
	return im, nil
}

// Addr converts a file offset of code to the address in the file's own tables.
// Mappings are aligned to pages, so they begin a little before and end a little
// after the segment; if segments overlap then, executable ones have precedence.
func (im *Image) Addr(off uint64) (uint64, bool) {
	found := false
	var addr uint64
	for i := range im.load {
		p := &im.load[i]
		if off < p.Off&^0xfff || off-p.Off&^0xfff >= p.Filesz+p.Off&0xfff {
			continue
		}
		if off < p.Off && found {
			continue
		}
		a := off - p.Off + p.Vaddr
		if p.Flags&elf.PF_X != 0 {
			return a, true
		}
		if !found {
			addr, found = a, true
		}
	}
	return addr, found
}

// A Segment is a mapped part of a file: its first address, its size in bytes, and
// its offset in the file.
type Segment struct{ Addr, Size, Offset uint64 }

// Segment returns the segment, in whole pages, of an address in the file's own
// tables.
func (im *Image) Segment(addr uint64) Segment {
	for i := range im.load {
		p := &im.load[i]
		if lead := p.Off & 0xfff; addr >= p.Vaddr-lead && addr-(p.Vaddr-lead) < p.Memsz+lead {
			return Segment{p.Vaddr - lead, (p.Memsz + lead + 0xfff) &^ 0xfff, p.Off - lead}
		}
	}
	return Segment{}
}

// Offset converts an address in the file's own tables to a file offset.
func (im *Image) Offset(addr uint64) (uint64, bool) {
	for i := range im.load {
		p := &im.load[i]
		if addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return addr - p.Vaddr + p.Off, true
		}
	}
	return 0, false
}

// Bytes reads n bytes of the image at an address; fewer if the segment ends.
func (im *Image) Bytes(addr uint64, n int) []byte {
	for i := range im.load {
		p := &im.load[i]
		if addr < p.Vaddr || addr-p.Vaddr >= p.Filesz {
			continue
		}
		if left := p.Filesz - (addr - p.Vaddr); uint64(n) > left {
			n = int(left)
		}
		b := make([]byte, n)
		for _, prog := range im.Progs {
			if prog.ProgHeader == *p {
				got, _ := prog.ReaderAt.ReadAt(b, int64(addr-p.Vaddr))
				return b[:got]
			}
		}
	}
	return nil
}

// Section returns the section with a name, nil if there is none. In old files, compressed sections
// are called .zdebug_ instead of .debug_.
func (im *Image) Section(name string) *elf.Section {
	if s := im.File.Section(name); s != nil {
		return s
	}
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok {
		return im.File.Section(zdebug + rest)
	}
	return nil
}

const zdebug = ".zdebug_"

// inflate reads a section of the old form: ZLIB, its size in bytes as a big-endian number, and the stream.
func inflate(s *elf.Section, most uint64) ([]byte, error) {
	var head [12]byte
	if _, err := s.ReadAt(head[:], 0); err != nil || string(head[:4]) != "ZLIB" {
		return nil, fmt.Errorf("section %s: got no compressed bytes", s.Name)
	}
	size := binary.BigEndian.Uint64(head[4:])
	switch {
	case size > most:
		return nil, &TooLarge{"section " + s.Name, size, most}
	case size > 4096 && size/2048 > s.FileSize:
		return nil, fmt.Errorf("section %s: got %d bytes out of %d", s.Name, size, s.FileSize)
	}
	r, err := zlib.NewReader(io.NewSectionReader(s, int64(len(head)), int64(s.FileSize)-int64(len(head))))
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return b, nil
}

// Data reads and decompresses a section; an error if there is none.
func (im *Image) Data(name string) ([]byte, error) {
	s := im.Section(name)
	if s == nil {
		return nil, fmt.Errorf("no section %s", name)
	}
	return im.SectionData(s)
}

// SectionData reads a section after checking its size against the file's.
func (im *Image) SectionData(s *elf.Section) ([]byte, error) { return im.section(s, MaxSection) }

// Wide is like Data, for a section with up to most bytes.
func (im *Image) Wide(name string, most uint64) ([]byte, error) {
	s := im.Section(name)
	if s == nil {
		return nil, fmt.Errorf("no section %s", name)
	}
	return im.section(s, most)
}

// Each reads all sections with a name, one after another: files of split units have one for each
// type.
func (im *Image) Each(name string, most uint64) (all []byte, err error) {
	n := 0
	for _, s := range im.File.Sections {
		if s.Name != name {
			continue
		}
		b, err := im.section(s, most-uint64(len(all)))
		if err != nil {
			return nil, err
		}
		if n++; n == 1 {
			all = b // the usual case: one section
			continue
		}
		all = append(all, b...)
	}
	if n == 0 {
		return im.Wide(name, most)
	}
	return all, nil
}

func (im *Image) section(s *elf.Section, most uint64) ([]byte, error) {
	if s.Type == elf.SHT_NOBITS {
		return nil, fmt.Errorf("section %s has no bytes", s.Name)
	}
	if s.Size > most {
		return nil, &TooLarge{"section " + s.Name, s.Size, most}
	}
	if s.FileSize > uint64(im.size) || s.Offset > uint64(im.size) {
		return nil, fmt.Errorf("section %s: got %d bytes, more than the file has", s.Name, s.Size)
	}
	// No compressor reduces data to less than a thousandth.
	if s.Size > 4096 && s.Size/2048 > s.FileSize {
		return nil, fmt.Errorf("section %s: got %d bytes out of %d", s.Name, s.Size, s.FileSize)
	}
	if !im.fits(int64(s.Size)) {
		return nil, ErrNoMemory
	}
	if strings.HasPrefix(s.Name, zdebug) {
		return inflate(s, most)
	}
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		return s.Data()
	}
	// The size is known: Data would grow its buffer step by step.
	b := make([]byte, s.FileSize)
	n, err := s.ReadAt(b, 0)
	if n == len(b) {
		err = nil
	}
	return b[:n], err
}

// maxSymbolName bounds the name of a symbol, in bytes; longer ones are empty.
const maxSymbolName = 16 << 10

// Symbols and DynamicSymbols read the symbol tables, without the versions of libraries. The
// functions of debug/elf read the whole section of names and copy the name of each symbol, which a
// malicious file can exploit at no cost: with a hole of a TB, or one long name for all symbols.
func (im *Image) Symbols() ([]elf.Symbol, error) { return im.symbols(elf.SHT_SYMTAB) }

// DynamicSymbols is described at Symbols.
func (im *Image) DynamicSymbols() ([]elf.Symbol, error) { return im.symbols(elf.SHT_DYNSYM) }

func (im *Image) symbols(typ elf.SectionType) ([]elf.Symbol, error) {
	table := im.SectionByType(typ)
	if table == nil || int(table.Link) >= len(im.Sections) {
		return nil, elf.ErrNoSymbols
	}
	data, err := im.SectionData(table)
	if err != nil {
		return nil, err
	}
	text, err := im.SectionData(im.Sections[table.Link])
	if err != nil {
		return nil, err
	}
	each := elf.Sym64Size
	if im.Class == elf.ELFCLASS32 {
		each = elf.Sym32Size
	}
	names, order := string(text), im.ByteOrder
	list := make([]elf.Symbol, 0, len(data)/each)
	for data = data[min(each, len(data)):]; len(data) >= each; data = data[each:] { // entry 0 is no symbol
		s := elf.Symbol{}
		if each == elf.Sym64Size {
			s.Info, s.Other, s.Section = data[4], data[5], elf.SectionIndex(order.Uint16(data[6:]))
			s.Value, s.Size = order.Uint64(data[8:]), order.Uint64(data[16:])
		} else {
			s.Value, s.Size = uint64(order.Uint32(data[4:])), uint64(order.Uint32(data[8:]))
			s.Info, s.Other, s.Section = data[12], data[13], elf.SectionIndex(order.Uint16(data[14:]))
		}
		if at := order.Uint32(data); uint64(at) < uint64(len(names)) {
			name := names[at:]
			if end := strings.IndexByte(name[:min(len(name), maxSymbolName+1)], 0); end > 0 {
				s.Name = name[:end]
			}
		}
		list = append(list, s)
	}
	return list, nil
}

// Part reads a number of bytes, at most most, of an uncompressed section, from an offset on.
func (im *Image) Part(s *elf.Section, at, size, most uint64) ([]byte, error) {
	switch {
	case size > most:
		return nil, &TooLarge{"section " + s.Name, size, most}
	case at > s.FileSize || size > s.FileSize-at || s.FileSize > uint64(im.size):
		return nil, fmt.Errorf("section %s: no %d bytes at %d", s.Name, size, at)
	case !im.fits(int64(size)):
		return nil, ErrNoMemory
	}
	b := make([]byte, size)
	if n, err := s.ReadAt(b, int64(at)); n < len(b) {
		return nil, err
	}
	return b, nil
}

// Go reports whether the Go linker made the file.
func (im *Image) Go() bool {
	return im.Section(".go.buildinfo") != nil || im.Section(".gopclntab") != nil ||
		im.Section(".data.rel.ro.gopclntab") != nil || im.Section(".note.go.buildid") != nil
}

// BuildID is the GNU build-id in hex, empty if there is none.
func (im *Image) BuildID() string {
	notes := 0
	for _, s := range im.Sections {
		if s.Type != elf.SHT_NOTE || s.Size > 1<<16 {
			continue
		}
		if notes++; notes > maxNotes {
			break
		}
		if b, err := im.SectionData(s); err == nil {
			if id := NoteBuildID(b, im.ByteOrder, int(s.Addralign)); id != "" {
				return id
			}
		}
	}
	return ""
}

// ReadBuildID is the build-id of the file at path in hex, empty if there is none or
// it cannot be read. If inode is not 0, the file must have that inode.
func ReadBuildID(path string, inode uint64) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have been replaced by a pipe
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); inode != 0 && (!ok || sys.Ino != inode) {
		return ""
	}
	return buildIDOf(f, st.Size())
}

// buildIDOf reads the build-id of an open file with a few small reads: headers,
// program headers, notes. A file without one is not an error.
func buildIDOf(f *os.File, size int64) string {
	var h [64]byte
	if _, err := f.ReadAt(h[:], 0); err != nil || string(h[:4]) != elf.ELFMAG {
		return ""
	}
	var order binary.ByteOrder = binary.LittleEndian
	if h[elf.EI_DATA] == byte(elf.ELFDATA2MSB) {
		order = binary.BigEndian
	}
	var off int64
	var each, count int
	wide := h[elf.EI_CLASS] == byte(elf.ELFCLASS64)
	if wide {
		off, each, count = int64(order.Uint64(h[32:])), int(order.Uint16(h[54:])), int(order.Uint16(h[56:]))
	} else {
		off, each, count = int64(order.Uint32(h[28:])), int(order.Uint16(h[42:])), int(order.Uint16(h[44:]))
	}
	if off <= 0 || off > size || each < 32 || wide && each < 56 || count > 256 {
		return ""
	}
	ph := make([]byte, each*count)
	if _, err := f.ReadAt(ph, off); err != nil {
		return ""
	}
	for ; len(ph) >= each; ph = ph[each:] {
		if elf.ProgType(order.Uint32(ph)) != elf.PT_NOTE {
			continue
		}
		var at, n, align uint64
		if wide {
			at, n, align = order.Uint64(ph[8:]), order.Uint64(ph[32:]), order.Uint64(ph[48:])
		} else {
			at, n, align = uint64(order.Uint32(ph[4:])), uint64(order.Uint32(ph[16:])),
				uint64(order.Uint32(ph[28:]))
		}
		if n > 1<<16 || at > uint64(size) {
			continue
		}
		b := make([]byte, n)
		if _, err := f.ReadAt(b, int64(at)); err != nil {
			continue
		}
		if id := NoteBuildID(b, order, int(align)); id != "" {
			return id
		}
	}
	return ""
}

// NoteBuildID is the build-id, in hex, in notes with an alignment: the note
// "GNU" of type NT_GNU_BUILD_ID (3). It is empty if there is none.
func NoteBuildID(b []byte, order binary.ByteOrder, align int) string {
	if align != 8 {
		align = 4
	}
	up := func(n uint32) int { return (int(n) + align - 1) &^ (align - 1) }
	for len(b) >= 12 {
		name, desc, typ := order.Uint32(b), order.Uint32(b[4:]), order.Uint32(b[8:])
		if name > 1<<16 || desc > 1<<16 {
			return ""
		}
		// The name is padded to 4 bytes, the descriptor to the alignment.
		from := 12 + (int(name)+3)&^3
		if align == 8 {
			from = (from + 7) &^ 7
		}
		if from+int(desc) > len(b) {
			return ""
		}
		if typ == 3 && name == 4 && string(b[12:16]) == "GNU\x00" {
			return hex.EncodeToString(b[from : from+int(desc)])
		}
		next := from + up(desc)
		if next > len(b) {
			return ""
		}
		b = b[next:]
	}
	return ""
}

var errNoVDSO = errors.New("no vDSO in this process")
