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

// This file finds the source lines of addresses. It reads of DWARF only the
// units that addresses lie in: an index of all units by address is made first,
// from the units' own headers, and the line table of a unit when one of its
// addresses is asked for. The tempting dwarf.Reader.SeekPC walks all units for
// each address, which takes minutes for a profile of a browser.

// lineInfo is the debug information of a file.
type lineInfo struct {
	data   *dwarf.Data
	lines  []byte // the line tables
	order  binary.ByteOrder
	spans  []unitSpan // by lo
	heads  []unitHead // by first
	units  map[dwarf.Offset]*unit
	golang *gosym.Table // instead of DWARF
	size   int
	// left is how many rows and inlined functions there is room for: beyond it
	// units have none.
	left    int
	expired func() bool
}

// unitSpan says that [lo, hi) is code of a unit.
type unitSpan struct {
	lo, hi uint64
	unit   dwarf.Offset // of its first entry
}

// unit is one compilation unit, as far as it was read.
type unit struct {
	files []string // of rows
	table []string // of the line table, by number
	rows  []lineRow
	subs  []function // by lo; nil until inlined functions were asked for
	read  bool
}

// lineRow says that from addr on the code is of that line; 0 of none.
type lineRow struct {
	addr uint64
	file int32
	line int32
}

// littleDebug is how many bytes of debug information may be idle. That of one file
// may be maxOfFile, in which maxUnits spans of code are found, and maxRows rows and
// inlined functions, some 24 bytes each.
const (
	littleDebug = 64 << 20 // it takes seconds to read
	maxOfFile   = 96 << 20
	maxUnits    = 1 << 20
	maxRows     = 1 << 22
)

// sections of DWARF that are read. The first are required.
var debugSections = []string{".debug_info", ".debug_abbrev", ".debug_line", ".debug_str",
	".debug_ranges", ".debug_rnglists", ".debug_addr", ".debug_line_str", ".debug_str_offsets"}

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

// loadLines reads the lines of a file, nil if there are none; the error is about
// parts that were not read.
func loadLines(store *dso.Store, f *dso.File) (*lineInfo, error) {
	im, err := f.Image()
	if err != nil {
		return nil, nil
	}
	l, err := readDWARF(debugImage(store, f, im))
	if l != nil && len(l.spans) > 0 {
		return l, err
	}
	if t, err := goLines(im); err == nil && t != nil {
		return &lineInfo{golang: t, size: goSize(im, t)}, nil
	}
	return nil, err
}

// debugImage is what has the debug information of a file: the file itself, or its debug file.
func debugImage(store *dso.Store, f *dso.File, im *dso.Image) *dso.Image {
	if im.Section(".debug_info") == nil {
		if d := store.Debug(f); d != nil {
			if dim, err := d.Image(); err == nil {
				return dim
			}
		}
	}
	return im
}

// goSize is about the memory of Go's table with the tables made of it, in bytes.
func goSize(im *dso.Image, t *gosym.Table) int {
	size := 200 * len(t.Funcs)
	if data, _, err := GoTable(im); err == nil {
		size += len(data)
	}
	return size
}

// readDWARF reads the sections and indexes the units.
func readDWARF(im *dso.Image) (l *lineInfo, err error) {
	defer guard(&err)
	parts := map[string][]byte{}
	size, whole := 0, uint64(0)
	for _, name := range debugSections {
		if s := im.Section(name); s != nil {
			whole += s.Size
		}
	}
	if whole > maxOfFile {
		return nil, &dso.TooLarge{What: "debug information", Bytes: whole, Most: maxOfFile}
	}
	for i, name := range debugSections {
		b, err := im.Wide(name, maxOfFile)
		if err != nil && i < 3 {
			return nil, err
		}
		parts[name] = b
		size += len(b)
	}
	d, err := dwarf.New(parts[".debug_abbrev"], nil, nil, parts[".debug_info"], parts[".debug_line"], nil,
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
		data:    d,
		lines:   parts[".debug_line"],
		order:   im.ByteOrder,
		units:   map[dwarf.Offset]*unit{},
		size:    2 * size,
		left:    maxRows,
		expired: im.Expired,
	}
	r := d.Reader()
	l.heads = unitHeads(im, parts[".debug_info"])
	for _, u := range l.heads {
		if im.Expired() {
			err = dso.ErrExpired
			break
		}
		if len(l.spans) > maxUnits {
			err = &dso.TooLarge{
				What:  "index of debug information",
				Bytes: uint64(24 * len(l.spans)),
				Most:  24 * maxUnits,
			}
			break
		}
		r.Seek(u.first)
		e, err := r.Next()
		if err != nil || e == nil || e.Tag != dwarf.TagCompileUnit {
			continue
		}
		ranges, err := d.Ranges(e)
		if err != nil {
			continue
		}
		for _, g := range ranges {
			if g[0] < g[1] && g[0] != 0 {
				l.spans = append(l.spans, unitSpan{g[0], g[1], u.first})
			}
		}
	}
	sort.Slice(l.spans, func(i, j int) bool { return l.spans[i].lo < l.spans[j].lo })
	return l, err
}

// A unitHead is what the header of a unit tells.
type unitHead struct {
	first   dwarf.Offset // of its first entry
	version uint16
}

// version is that of the unit whose first entry is at an offset; 0 if there is none.
func (l *lineInfo) version(first dwarf.Offset) uint16 {
	i, ok := slices.BinarySearchFunc(l.heads, first, func(h unitHead, first dwarf.Offset) int {
		return cmp.Compare(h.first, first)
	})
	if !ok {
		return 0
	}
	return l.heads[i].version
}

// unitHeads walks the headers of units.
func unitHeads(im *dso.Image, info []byte) (heads []unitHead) {
	order := im.ByteOrder
	for at := 0; at+11 < len(info); {
		length, head, word := uint64(order.Uint32(info[at:])), 4, 4
		if length == 0xffffffff && at+23 < len(info) {
			length, head, word = order.Uint64(info[at+4:]), 12, 8
		}
		if length < 7 || length > uint64(len(info)-at-head) {
			break
		}
		body := at + head
		first := body + 2 + word + 1 // version, abbreviations, address size
		version := order.Uint16(info[body:])
		if version >= 5 {
			first++ // kind of unit
			if kind := info[body+2]; kind == 4 || kind == 5 {
				first += 8 // split units
			} else if kind == 2 || kind == 6 {
				first = len(info) // types have no code
			}
		}
		if first < body+int(length) {
			heads = append(heads, unitHead{dwarf.Offset(first), version})
		}
		at = body + int(length)
	}
	return heads
}

// guard makes an error of a panic in a reader that trusts its input.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("damaged debug information: %v", r)
	}
}

// unit returns the unit that addr is in, nil if none.
func (l *lineInfo) unit(addr uint64) *unit {
	i := sort.Search(len(l.spans), func(i int) bool { return l.spans[i].lo > addr }) - 1
	// Units of inlined templates may overlap by mistake of the linker.
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
		u = &unit{}
		if err := l.readLines(off, u); err != nil {
			u.rows = nil
		}
		l.units[off] = u
	}
	return u
}

// readLines reads the line table of a unit.
func (l *lineInfo) readLines(off dwarf.Offset, u *unit) (err error) {
	defer guard(&err)
	r := l.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil {
		return errors.New("no unit")
	}
	if at, ok := e.Val(dwarf.AttrStmtList).(int64); ok {
		if err := countsFit(l.lines, at, l.order); err != nil {
			return err
		}
	}
	lr, err := l.data.LineReader(e)
	if err != nil || lr == nil {
		return errors.New("no line table")
	}
	dir, _ := e.Val(dwarf.AttrCompDir).(string)
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
		if len(u.rows) >= l.left || n%4096 == 0 && l.expired() {
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
		// The last row at an address counts, and most rows repeat a line.
		if n := len(u.rows); n > 0 && u.rows[n-1].addr == row.addr && u.rows[n-1].line != 0 {
			u.rows[n-1] = row
			continue
		}
		u.rows = append(u.rows, row)
	}
	l.left -= len(u.rows)
	if !sort.SliceIsSorted(u.rows, func(i, j int) bool { return u.rows[i].addr < u.rows[j].addr }) {
		// Sequences come in any order; where one ends and another begins, the
		// beginning counts.
		sort.SliceStable(u.rows, func(i, j int) bool {
			a, b := &u.rows[i], &u.rows[j]
			return a.addr < b.addr || a.addr == b.addr && a.file < 0 && b.file >= 0
		})
	}
	return nil
}

// absolute is a source file's name as the compiler meant it.
func absolute(dir, name string) string {
	if name == "" || path.IsAbs(name) || dir == "" {
		return name
	}
	return path.Join(dir, name)
}

// line is the source line of an address, "" if it is not known.
func (u *unit) line(addr uint64) (file string, line int) {
	i := sort.Search(len(u.rows), func(i int) bool { return u.rows[i].addr > addr }) - 1
	if i < 0 || u.rows[i].file < 0 {
		return "", 0
	}
	return u.files[u.rows[i].file], int(u.rows[i].line)
}

// withLines adds file and line to f, and with Inlines the functions that were
// inlined at addr, innermost first.
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
