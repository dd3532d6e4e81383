package symbol

import (
	"cmp"
	"debug/dwarf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"

	"ppscript/runtime/stack/dso"
)

// This file finds the source lines of addresses. It reads only the DWARF units
// that contain the addresses: it first makes an index of all units by address,
// from the units' headers, and reads the line table of a unit when one of its
// addresses is needed. The tempting dwarf.Reader.SeekPC walks all units for
// each address, which takes minutes for a profile of a browser.

// lineInfo is the debug information of a file.
type lineInfo struct {
	data   *dwarf.Data
	parts  map[string][]byte // the sections, by name
	order  binary.ByteOrder
	spans  []unitSpan // by lo
	heads  []unitHead // by first
	units  map[dwarf.Offset]*unit
	trees  map[dwarf.Offset]*tree
	split  *splitFiles  // nil if no further files are searched
	golang *gosym.Table // instead of DWARF
	size   int
	// remaining is the number of rows and inlined functions for which there is
	// room; further units have none.
	remaining int
	expired   func() bool
}

// unitSpan says that [lo, hi) is code of a unit, given by the offset of its
// first entry.
type unitSpan struct {
	lo, hi uint64
	unit   dwarf.Offset // of its first entry
}

// unit is one compilation unit, as far as it is read.
type unit struct {
	first dwarf.Offset // of its first entry
	files []string     // files of rows
	table []string     // files of the line table, by number
	rows  []lineRow
	subs  []function // by lo; nil until inlined functions are needed
	read  bool
}

// lineRow says that the code from addr on belongs to a line; 0 means none.
type lineRow struct {
	addr uint64
	file int32
	line int32
}

// littleDebug is the size of debug information, in bytes, up to which idle tables
// are kept. maxOfFile bounds the debug information of one file, maxUnits its spans
// of code, and maxRows its rows and inlined functions, of some 24 bytes each.
const (
	littleDebug = 64 << 20 // reading it takes seconds
	maxOfFile   = 96 << 20
	maxUnits    = 1 << 20
	maxRows     = 1 << 22
)

// debugSections are the sections of DWARF that are read. The first ones are
// required.
var debugSections = []string{".debug_info", ".debug_abbrev", ".debug_line", ".debug_str",
	".debug_ranges", ".debug_rnglists", ".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_types"}

// Numbers of these sections that a file must have, and that a supplementary file, which has
// no lines, must have.
const (
	required     = 3
	requiredMore = 2
)

// lineInfo returns the debug information of a file, nil if there is none.
func (s *Symbolizer) lineInfo(f *dso.File) *lineInfo {
	if l, ok := s.lines.Of(f, s.now); ok {
		return l
	}
	l, err := loadLines(s.opt.Maps.Files(), f)
	s.opt.Maps.Files().Tell(f, err)
	size := 0
	if l != nil {
		size = l.size
	}
	s.lines.Hold(f, l, size, s.now)
	return l
}

// loadLines reads the debug information of a file, nil if there is none; the
// error is about parts that were not read.
func loadLines(store *dso.Store, f *dso.File) (*lineInfo, error) {
	im, err := f.Image()
	if err != nil {
		return nil, nil
	}
	d := debugFile(store, f, im)
	dim, err := d.Image()
	if err != nil {
		return nil, nil
	}
	var more *dso.Image
	var absent error
	if sup, name := store.Supplement(f, d); sup != nil {
		more, _ = sup.Image()
	} else if name != "" {
		absent = &dso.Absent{Subject: "a part of the debug information", Path: name}
	}
	l, err := readDWARF(dim, more)
	if l != nil && len(l.spans) > 0 {
		l.split = &splitFiles{store: store, files: []*dso.File{f, d}}
		return l, cmp.Or(err, absent)
	}
	if t, err := goLines(im); err == nil && t != nil {
		return &lineInfo{golang: t, size: goSize(im, t)}, nil
	}
	return nil, err
}

// debugFile returns the file with the debug information of a file: itself, or its debug
// file.
func debugFile(store *dso.Store, f *dso.File, im *dso.Image) *dso.File {
	if im.Section(".debug_info") == nil {
		if d := store.Debug(f); d != nil {
			if _, err := d.Image(); err == nil {
				return d
			}
		}
	}
	return f
}

// goSize is the approximate memory of Go's table and the tables made from it, in
// bytes.
func goSize(im *dso.Image, t *gosym.Table) int {
	size := 200 * len(t.Funcs)
	if data, _, err := GoTable(im); err == nil {
		size += len(data)
	}
	return size
}

// readDWARF reads the sections and indexes the units. more is the supplementary file, nil if there is none.
func readDWARF(im, more *dso.Image) (l *lineInfo, err error) {
	defer guard(&err)
	size := uint64(0)
	parts, err := readParts(im, required, &size)
	if err == nil {
		err = bindTypes(parts, im.ByteOrder, im.Expired)
	}
	if err == nil && more != nil {
		var others map[string][]byte
		if others, err = readParts(more, requiredMore, &size); err == nil {
			err = joined(parts, others, im.ByteOrder, im.Expired)
		}
	}
	if err != nil {
		return nil, err
	}
	d, err := newDWARF(im.ByteOrder, parts[".debug_abbrev"], parts[".debug_info"], parts[".debug_line"],
		parts[".debug_ranges"], parts[".debug_str"])
	if err != nil {
		return nil, err
	}
	for _, name := range debugSections[5:] {
		if err := d.AddSection(name, parts[name]); err != nil {
			return nil, err
		}
	}
	l = &lineInfo{
		data:      d,
		parts:     parts,
		order:     im.ByteOrder,
		units:     map[dwarf.Offset]*unit{},
		trees:     map[dwarf.Offset]*tree{},
		size:      2 * int(size),
		remaining: maxRows,
		expired:   im.Expired,
	}
	r := d.Reader()
	l.heads = unitHeads(im.ByteOrder, parts[".debug_info"])
	for _, u := range l.heads {
		if im.Expired() {
			err = dso.ErrExpired
			break
		}
		if len(l.spans) > maxUnits {
			err = &dso.TooLarge{
				Subject: "index of debug information",
				Bytes:   uint64(24 * len(l.spans)),
				Most:    24 * maxUnits,
			}
			break
		}
		r.Seek(dwarf.Offset(u.first))
		e, err := r.Next()
		if err != nil || e == nil || e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagSkeletonUnit {
			continue
		}
		ranges, err := d.Ranges(e)
		if err != nil {
			continue
		}
		for _, g := range ranges {
			if g[0] < g[1] && g[0] != 0 {
				l.spans = append(l.spans, unitSpan{g[0], g[1], dwarf.Offset(u.first)})
			}
		}
	}
	sort.Slice(l.spans, func(i, j int) bool { return l.spans[i].lo < l.spans[j].lo })
	return l, err
}

// readParts reads the sections of a file by their names, and adds their bytes to size.
func readParts(im *dso.Image, required int, size *uint64) (map[string][]byte, error) {
	whole := *size
	for _, name := range debugSections {
		if s := im.Section(name); s != nil {
			whole += s.Size
		}
	}
	if whole > maxOfFile {
		return nil, &dso.TooLarge{Subject: "debug information", Bytes: whole, Most: maxOfFile}
	}
	parts := map[string][]byte{}
	for i, name := range debugSections {
		b, err := im.Wide(name, maxOfFile)
		if err != nil && i < required {
			return nil, err
		}
		parts[name] = b
		*size += uint64(len(b))
	}
	return parts, nil
}

// A unitHead has the data of a unit's header; positions are offsets in the section.
type unitHead struct {
	first, end      int // offsets of its entries
	version         uint16
	kind            byte // since version 5; 0 before
	word            int  // size of an offset in bytes
	address, abbrev int  // positions of the size of addresses, and of the offset of abbreviations
}

// Kinds of units, DW_UT_*, since version 5.
const (
	unitType         = 2
	unitSkeleton     = 4
	unitSplitCompile = 5
	unitSplitType    = 6
)

// head returns the head of the unit whose first entry is at an offset; nil if there is none.
func (l *lineInfo) head(first dwarf.Offset) *unitHead { return headOf(l.heads, first) }

func headOf(heads []unitHead, first dwarf.Offset) *unitHead {
	i, ok := slices.BinarySearchFunc(heads, int(first), func(h unitHead, first int) int {
		return cmp.Compare(h.first, first)
	})
	if !ok {
		return nil
	}
	return &heads[i]
}

// unitHeads walks the headers of units with code.
func unitHeads(order binary.ByteOrder, info []byte) (heads []unitHead) {
	for at := 0; ; {
		h, ok := readHead(order, info, at)
		if !ok {
			return heads
		}
		if h.kind != unitType && h.kind != unitSplitType && h.first < h.end {
			heads = append(heads, h)
		}
		at = h.end
	}
}

// readHead reads the header at an offset; ok is false at the end.
func readHead(order binary.ByteOrder, info []byte, at int) (h unitHead, ok bool) {
	if at+11 >= len(info) {
		return h, false
	}
	length, head := uint64(order.Uint32(info[at:])), 4
	h.word = 4
	if length == 0xffffffff && at+23 < len(info) {
		length, head, h.word = order.Uint64(info[at+4:]), 12, 8
	}
	if length < 7 || length > uint64(len(info)-at-head) {
		return h, false
	}
	body := at + head
	h.end = body + int(length)
	h.version = order.Uint16(info[body:])
	if h.version < 5 {
		h.abbrev, h.address = body+2, body+2+h.word
		h.first = h.address + 1
		return h, h.first <= h.end
	}
	h.kind, h.address, h.abbrev = info[body+2], body+3, body+4
	h.first = h.abbrev + h.word
	switch h.kind {
	case unitSkeleton, unitSplitCompile:
		h.first += 8 // the DWO id
	case unitType, unitSplitType:
		h.first += 8 + h.word // signature, offset of the type
	}
	return h, h.first <= h.end
}

// guard converts a panic in a reader that trusts its input to an error.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("damaged debug information: %v", r)
	}
}

// unit returns the unit that addr is in, nil if none.
func (l *lineInfo) unit(addr uint64) *unit {
	i := sort.Search(len(l.spans), func(i int) bool { return l.spans[i].lo > addr }) - 1
	// Units of templates may overlap by a mistake of the linker.
	for ; i >= 0 && addr >= l.spans[i].hi; i-- {
		if addr-l.spans[i].lo > 1<<24 {
			return nil
		}
	}
	if i < 0 {
		return nil
	}
	off := l.spans[i].unit
	u, ok := l.units[off]
	if !ok {
		u = &unit{first: off}
		if err := l.readLines(off, u); err != nil {
			u.rows = nil
		}
		l.units[off] = u
	}
	return u
}

// lineTable opens the line table of a unit, and returns the unit's directory, which begins relative names
// of files. The table is checked before package debug/dwarf reads it.
func (l *lineInfo) lineTable(off dwarf.Offset) (lr *dwarf.LineReader, dir string, err error) {
	r := l.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil {
		return nil, "", errors.New("no unit")
	}
	if at, ok := e.Val(dwarf.AttrStmtList).(int64); ok {
		if err := countsFit(l.parts[".debug_line"], at, l.order); err != nil {
			return nil, "", err
		}
	}
	lr, err = l.data.LineReader(e)
	if err != nil || lr == nil {
		return nil, "", errors.New("no line table")
	}
	dir, _ = e.Val(dwarf.AttrCompDir).(string)
	return lr, dir, nil
}

// eachUnit calls fn once for each unit that has code, until one call fails or the time is over.
func (l *lineInfo) eachUnit(fn func(l *lineInfo, off dwarf.Offset) error) error {
	units := map[dwarf.Offset]bool{}
	for _, span := range l.spans {
		if units[span.unit] {
			continue
		}
		units[span.unit] = true
		if l.expired() {
			return dso.ErrExpired
		}
		if err := fn(l, span.unit); err != nil {
			return err
		}
	}
	return nil
}

// readLines reads the line table of a unit.
func (l *lineInfo) readLines(off dwarf.Offset, u *unit) (err error) {
	defer guard(&err)
	lr, dir, err := l.lineTable(off)
	if err != nil {
		return err
	}
	for _, f := range lr.Files() {
		name := ""
		if f != nil {
			name = absolute(dir, f.Name)
		}
		u.table = append(u.table, name)
	}
	index := map[*dwarf.LineFile]int32{}
	var le dwarf.LineEntry
	for n := 0; lr.Next(&le) == nil; n++ {
		if len(u.rows) >= l.remaining || n%4096 == 0 && l.expired() {
			break
		}
		row := lineRow{addr: le.Address, file: -1}
		if !le.EndSequence && le.File != nil {
			i, ok := index[le.File]
			if !ok {
				i = int32(len(u.files))
				index[le.File] = i
				u.files = append(u.files, absolute(dir, le.File.Name))
			}
			row.file, row.line = i, int32(le.Line)
		}
		// The last row at an address counts; rows that repeat a line are left
		// out.
		if n := len(u.rows); n > 0 && u.rows[n-1].addr == row.addr && u.rows[n-1].line != 0 {
			u.rows[n-1] = row
			continue
		}
		u.rows = append(u.rows, row)
	}
	l.remaining -= len(u.rows)
	if !sort.SliceIsSorted(u.rows, func(i, j int) bool { return u.rows[i].addr < u.rows[j].addr }) {
		// Sequences come in any order; if one ends where another begins, the
		// begin counts.
		sort.SliceStable(u.rows, func(i, j int) bool {
			a, b := &u.rows[i], &u.rows[j]
			return a.addr < b.addr || a.addr == b.addr && a.file < 0 && b.file >= 0
		})
	}
	return nil
}

// absolute is the full name of a source file, relative to the compiler's
// directory.
func absolute(dir, name string) string {
	if name == "" || path.IsAbs(name) || dir == "" {
		return name
	}
	return path.Join(dir, name)
}

// line returns the source line of an address, "" if unknown.
func (u *unit) line(addr uint64) (file string, line int) {
	i := sort.Search(len(u.rows), func(i int) bool { return u.rows[i].addr > addr }) - 1
	if i < 0 || u.rows[i].file < 0 {
		return "", 0
	}
	return u.files[u.rows[i].file], int(u.rows[i].line)
}

// withLines adds file and line to f and, with Inlines, returns the functions
// inlined at addr before it, innermost first.
func (s *Symbolizer) withLines(f Frame, file *dso.File, addr uint64) []Frame {
	l := s.lineInfo(file)
	if l == nil {
		return []Frame{f}
	}
	if l.golang != nil {
		f.File, f.Line = goLine(l.golang, addr)
		return []Frame{f}
	}
	u := l.unit(addr)
	if u == nil {
		return []Frame{f}
	}
	name, line := u.line(addr)
	if !s.opt.Inlines {
		f.File, f.Line = name, line
		return []Frame{f}
	}
	return s.inlined(f, l, u, addr, name, line)
}

func goLine(t *gosym.Table, addr uint64) (file string, line int) {
	defer func() {
		if recover() != nil {
			file, line = "", 0
		}
	}()
	file, line, _ = t.PCToLine(addr)
	if line <= 0 { // padding
		return "", 0
	}
	return file, line
}
