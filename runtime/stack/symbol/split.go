package symbol

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"ppscript/runtime/stack/dso"
)

// This file finds the entries of split units, which the compiler put into separate files
// (-gsplit-dwarf, and split-debuginfo of Rust). The program keeps a skeleton of each unit: the
// ranges of its code, its line table, the addresses to which its entries refer by number, and the
// name of the file with the entries (.dwo). Both have the same number, the DWO id. A package beside
// the program (.dwp) may contain the files of all units.
//
// A file is read when the functions of its unit are needed, since there may be thousands. Package
// debug/dwarf can read it like an ordinary file if its sections begin at the bases of that unit,
// because it uses 0 for a base that the unit does not have. It also uses 0 for the base address of
// ranges, which only the skeleton has: see tree.ranges.

// A tree has the entries of a unit.
type tree struct {
	data    *dwarf.Data
	root    dwarf.Offset // of the first entry
	version uint16
	split   *unitFile  // the file with the entries; nil for the file itself
	low     uint64     // base address of ranges of a split unit
	addrs   []byte     // addresses of a split unit
	locs    *locations // nil until they are needed
}

// tree returns the entries of the unit whose first entry in the file itself is at an offset. If the
// entries of a split unit are not found, it returns the skeleton.
func (l *lineInfo) tree(first dwarf.Offset) *tree {
	if t, ok := l.trees[first]; ok {
		return t
	}
	t := &tree{data: l.data, root: first}
	if h := l.head(first); h != nil {
		t.version = h.version
		if s, err := l.splitTree(h); s != nil {
			t = s
		} else if err != nil && l.split != nil {
			l.split.store.Tell(l.split.files[0], err)
		}
	}
	l.trees[first] = t
	return t
}

// ranges returns the spans of code of an entry.
func (t *tree) ranges(e *dwarf.Entry) ([][2]uint64, error) {
	f := e.AttrField(dwarf.AttrRanges)
	if t.low == 0 || f == nil {
		return t.data.Ranges(e)
	}
	low := dwarf.Field{Attr: dwarf.AttrLowpc, Val: t.low, Class: dwarf.ClassAddress}
	return t.data.Ranges(&dwarf.Entry{Offset: e.Offset, Tag: dwarf.TagCompileUnit,
		Field: []dwarf.Field{*f, low}})
}

// Attributes of skeletons before DWARF 5, DW_AT_GNU_*.
const (
	attrGNUDwoName    dwarf.Attr = 0x2130
	attrGNUDwoID      dwarf.Attr = 0x2131
	attrGNURangesBase dwarf.Attr = 0x2132
	attrGNUAddrBase   dwarf.Attr = 0x2133
)

// A skeleton is the part of a split unit that is in the program.
type skeleton struct {
	name, dir       string // name of the file, and the compiler's directory
	id              uint64
	low             uint64
	addrAt, rangeAt int64 // offsets of the unit's addresses and ranges in the program's sections
	version         uint16
}

// skeleton reads the skeleton of a unit; ok is false if the unit is not split.
func (l *lineInfo) skeleton(h *unitHead) (s skeleton, ok bool) {
	r := l.data.Reader()
	r.Seek(dwarf.Offset(h.first))
	e, err := r.Next()
	if err != nil || e == nil {
		return s, false
	}
	s.version = h.version
	s.dir, _ = e.Val(dwarf.AttrCompDir).(string)
	s.low, _ = e.Val(dwarf.AttrLowpc).(uint64)
	if h.kind == unitSkeleton {
		s.name, _ = e.Val(dwarf.AttrDwoName).(string)
		s.id = l.order.Uint64(l.parts[".debug_info"][h.first-8:])
		s.addrAt, _ = e.Val(dwarf.AttrAddrBase).(int64)
		return s, s.name != ""
	}
	s.name, _ = e.Val(attrGNUDwoName).(string)
	id, ok := e.Val(attrGNUDwoID).(int64)
	s.id = uint64(id)
	s.addrAt, _ = e.Val(attrGNUAddrBase).(int64)
	s.rangeAt, _ = e.Val(attrGNURangesBase).(int64)
	return s, ok && s.name != ""
}

// splitFiles finds the files of split units.
type splitFiles struct {
	store *dso.Store
	files []*dso.File // the program, and the file with its debug information
	size  uint64      // bytes read from files of units so far
	// packages are the packages beside the files; nil until they are searched.
	packages []*dwoPackage
}

// charge counts bytes that were read from files of units, also in vain; it returns an error if no
// more may be read.
func (f *splitFiles) charge(bytes uint64) error {
	if f.size += bytes; f.size > maxOfFile {
		return &dso.TooLarge{Subject: "debug information of units", Bytes: f.size, Most: maxOfFile}
	}
	return nil
}

// errStale is the reason if a file belongs to another build of the program.
var errStale = errors.New("it is of another build")

// splitTree reads the entries of a split unit; nil if the unit is not split. The error is the
// reason if they are not found.
func (l *lineInfo) splitTree(h *unitHead) (t *tree, err error) {
	defer guard(&err)
	s, ok := l.skeleton(h)
	if !ok || l.split == nil {
		return nil, nil
	}
	if err := l.split.charge(0); err != nil {
		return nil, err
	}
	u := l.split.find(&s)
	if u == nil {
		return nil, &dso.Absent{Subject: "debug information of units", Path: s.path()}
	}
	return l.read(u, &s)
}

// path is the path to which the compiler wrote the file.
func (s *skeleton) path() string {
	if filepath.IsAbs(s.name) {
		return s.name
	}
	return filepath.Join(s.dir, s.name)
}

// find finds the file of a unit: in a package beside the program or its debug file, at the
// compiler's path, or beside the program. Files of another build are skipped.
func (f *splitFiles) find(s *skeleton) *unitFile {
	if f.packages == nil {
		f.packages = []*dwoPackage{}
		for i, file := range f.files {
			if i > 0 && file == f.files[0] {
				continue
			}
			if p := openPackage(f.store, file); p != nil {
				f.packages = append(f.packages, p)
			}
		}
	}
	for _, p := range f.packages {
		if u := p.unit(s.id); u != nil {
			return u
		}
	}
	places := []string{s.path()}
	for _, file := range f.files {
		beside := filepath.Dir(file.Name())
		places = append(places, filepath.Join(beside, filepath.Base(s.name)))
		if !filepath.IsAbs(s.name) {
			places = append(places, filepath.Join(beside, s.name))
		}
	}
	for _, place := range places {
		if !filepath.IsAbs(place) {
			continue
		}
		d, err := f.store.Open(f.files[0].Root(), place)
		if err != nil {
			continue
		}
		im, err := d.Image()
		if err != nil || im.Section(".debug_info.dwo") == nil {
			continue
		}
		u := &unitFile{dwo: &dwoFile{im: im}}
		if _, _, err := u.info(s); err == nil {
			return u
		}
		if f.charge(im.Section(".debug_info.dwo").Size) != nil {
			break
		}
	}
	return nil
}

// read makes a tree from the file of a unit.
func (l *lineInfo) read(u *unitFile, s *skeleton) (*tree, error) {
	info, first, err := u.info(s)
	if err != nil {
		return nil, err
	}
	size := uint64(len(info))
	section := func(name string) []byte {
		b, sectionErr := u.section(name)
		if sectionErr != nil {
			err = sectionErr
		}
		if u.at == nil || name != ".debug_str.dwo" { // all units of a package share it
			size += uint64(len(b))
		}
		return b
	}
	abbrev, lists := section(".debug_abbrev.dwo"), section(".debug_rnglists.dwo")
	text, offsets := section(".debug_str.dwo"), section(".debug_str_offsets.dwo")
	types, typesErr := u.types()
	large := l.split.charge(size + uint64(len(types)) + u.dwo.fresh)
	if err := cmp.Or(err, typesErr, large); err != nil {
		return nil, err
	}
	u.dwo.fresh = 0
	parts := map[string][]byte{".debug_info": info, ".debug_abbrev": abbrev, ".debug_types": types}
	if err := errors.Join(bindTypes(parts, l.order, l.expired), reform(abbrev)); err != nil {
		return nil, err
	}
	info = parts[".debug_info"]
	t := &tree{root: dwarf.Offset(first), version: s.version, split: u, low: s.low,
		addrs: from(l.parts[".debug_addr"], s.addrAt)}
	ranges := from(l.parts[".debug_ranges"], s.rangeAt)
	if t.data, err = newDWARF(l.order, abbrev, info, nil, ranges, text); err != nil {
		return nil, err
	}
	if s.version >= 5 {
		offsets, lists = from(offsets, head(offsets, 8, l.order)), from(lists, head(lists, 12, l.order))
	}
	for name, b := range map[string][]byte{
		".debug_addr": t.addrs, ".debug_str_offsets": offsets, ".debug_rnglists": lists} {
		if err := t.data.AddSection(name, b); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// from returns a section from an offset on, which may be outside of the
// section.
func from(b []byte, at int64) []byte {
	if at < 0 || at > int64(len(b)) {
		return nil
	}
	return b[at:]
}

// head is the size of the header of a table, which is 8 bytes larger if offsets have 8
// bytes.
func head(b []byte, size int64, order binary.ByteOrder) int64 {
	if len(b) >= 4 && order.Uint32(b) == 0xffffffff {
		return size + 8
	}
	return size
}

// A unitFile has the sections of a split unit: of a separate file, or parts of a package's
// sections.
type unitFile struct {
	dwo *dwoFile
	// at has the offset and size of the unit's part of each section in a package; nil means the
	// whole sections.
	at    map[string][2]uint64
	index *unitIndex // index of the package's types
}

// types are the units of types that are not among the other units: in a separate section of a file,
// or in a package if they came with the unit. If several files have a type, a package keeps one of
// them. It may come from another file with other abbreviations and texts; such a type stays
// unknown.
func (u *unitFile) types() (all []byte, err error) {
	if u.at == nil {
		return u.section(".debug_types.dwo")
	}
	for _, row := range u.index.with(u.at) {
		parts, name := u.index.parts(row), ".debug_types.dwo"
		if _, old := parts[name]; !old {
			name = ".debug_info.dwo" // since version 5
		}
		b, err := u.dwo.part(name, parts[name][0], parts[name][1])
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
}

// section returns a section of the unit; nil if there is none.
func (u *unitFile) section(name string) ([]byte, error) {
	at, ok := u.at[name]
	switch {
	case u.dwo.im.Section(name) == nil, u.at != nil && !ok && name != ".debug_str.dwo":
		return nil, nil
	case !ok:
		return u.dwo.whole(name)
	}
	return u.dwo.part(name, at[0], at[1])
}

// info returns the section of entries, and the offset of the unit's first entry; an error if it is
// not the unit of the skeleton.
func (u *unitFile) info(s *skeleton) (info []byte, first int, err error) {
	defer guard(&err)
	if info, err = u.section(".debug_info.dwo"); err != nil {
		return nil, 0, err
	}
	order := u.dwo.im.ByteOrder
	var old func(first int) (id uint64, ok bool)
	for _, h := range unitHeads(order, info) {
		if h.version != s.version {
			continue
		}
		if h.kind == unitSplitCompile && order.Uint64(info[h.first-8:]) == s.id {
			return info, h.first, nil
		}
		if h.version >= 5 {
			continue
		}
		if u.at != nil { // the id is in the package's index
			return info, h.first, nil
		}
		if old == nil {
			if old, err = u.oldIDs(info); err != nil {
				return nil, 0, err
			}
		}
		if id, ok := old(h.first); ok && id == s.id {
			return info, h.first, nil
		}
	}
	return nil, 0, errStale
}

// oldIDs finds the ids of units before DWARF 5, which are in their first
// entries.
func (u *unitFile) oldIDs(info []byte) (id func(first int) (uint64, bool), err error) {
	abbrev, err := u.section(".debug_abbrev.dwo")
	if err == nil {
		err = reform(abbrev)
	}
	if err != nil {
		return nil, err
	}
	// Texts and addresses are not needed, and are all 0.
	d, err := newDWARF(u.dwo.im.ByteOrder, abbrev, info, nil, nil, make([]byte, 1))
	if err != nil {
		return nil, err
	}
	offsets, err := u.section(".debug_str_offsets.dwo")
	if err == nil {
		err = d.AddSection(".debug_str_offsets", make([]byte, len(offsets)))
	}
	if err != nil {
		return nil, err
	}
	r := d.Reader()
	return func(first int) (uint64, bool) {
		r.Seek(dwarf.Offset(first))
		e, err := r.Next()
		if err != nil || e == nil {
			return 0, false
		}
		id, ok := e.Val(attrGNUDwoID).(int64)
		return uint64(id), ok
	}, nil
}

// locations returns the lists of locations of variables; empty if they cannot
// be read.
func (u *unitFile) locations(t *tree) *locations {
	l := &locations{order: u.dwo.im.ByteOrder, addrs: t.addrs, gnu: t.version < 5}
	if l.gnu {
		l.lists, _ = u.section(".debug_loc.dwo")
		return l
	}
	lists, _ := u.section(".debug_loclists.dwo")
	l.lists = from(lists, head(lists, 12, l.order))
	return l
}

// A dwoFile is a file of split units.
type dwoFile struct {
	im    *dso.Image
	read  map[string][]byte // whole sections of a package
	fresh uint64            // bytes of these that are not charged yet
}

// whole reads a section. Sections of packages are kept, since all units share
// them.
func (d *dwoFile) whole(name string) ([]byte, error) {
	if b, ok := d.read[name]; ok {
		return b, nil
	}
	b, err := d.im.Each(name, maxOfFile)
	if d.read != nil && err == nil {
		d.read[name] = b
		d.fresh += uint64(len(b))
	}
	return b, err
}

// part reads a part of a section, for the caller to change.
func (d *dwoFile) part(name string, at, size uint64) ([]byte, error) {
	s := d.im.Section(name)
	if s.Flags&elf.SHF_COMPRESSED == 0 {
		return d.im.Part(s, at, size, maxOfFile)
	}
	b, err := d.whole(name)
	if err != nil {
		return nil, err
	}
	if at > uint64(len(b)) || size > uint64(len(b))-at {
		return nil, fmt.Errorf("section %s: no %d bytes at %d", name, size, at)
	}
	return bytes.Clone(b[at : at+size]), nil
}

// A dwoPackage is a package of files of units (.dwp). It has an index of the parts of each unit,
// and another one for units of types.
type dwoPackage struct {
	dwoFile
	units, types unitIndex
}

// A unitIndex has the positions of the parts of units.
type unitIndex struct {
	sections []string // names of the columns
	// The hash table: ids of units or signatures of types, 8 bytes each, and the numbers of their
	// rows, 4 bytes each, from 1; 0 means none.
	ids, rows []byte
	table     [2][]byte        // tables of offsets and of sizes, 4 bytes each
	order     binary.ByteOrder // of the table
	sharing   map[sharing][]int
}

// openPackage opens the package beside a file; nil if there is none.
func openPackage(store *dso.Store, f *dso.File) *dwoPackage {
	file, err := store.Open(f.Root(), f.Name()+".dwp")
	if err != nil {
		return nil
	}
	im, err := file.Image()
	if err != nil {
		return nil
	}
	index, err := im.Wide(".debug_cu_index", maxOfFile)
	if err != nil {
		return nil
	}
	p := &dwoPackage{dwoFile: dwoFile{im: im, read: map[string][]byte{}, fresh: uint64(len(index))}}
	p.units.order, p.types.order = im.ByteOrder, im.ByteOrder
	err = p.units.read(index)
	if im.Section(".debug_tu_index") != nil && err == nil {
		if index, err = im.Wide(".debug_tu_index", maxOfFile); err == nil {
			p.fresh += uint64(len(index))
			err = p.types.read(index)
		}
	}
	if err != nil {
		store.Tell(f, fmt.Errorf("%s: %w", file.Name(), err))
		return nil
	}
	return p
}

// Columns of an index, DW_SECT_*: of version 2 (GNU), and of version 5.
var packageColumns = map[uint32]map[uint32]string{
	2: {1: ".debug_info.dwo", 2: ".debug_types.dwo", 3: ".debug_abbrev.dwo", 5: ".debug_loc.dwo",
		6: ".debug_str_offsets.dwo"},
	5: {1: ".debug_info.dwo", 3: ".debug_abbrev.dwo", 5: ".debug_loclists.dwo", 6: ".debug_str_offsets.dwo",
		8: ".debug_rnglists.dwo"},
}

// read reads an index: its header, the hash table of ids, the numbers of their rows, and the
// tables of offsets and sizes.
func (x *unitIndex) read(b []byte) (err error) {
	defer guard(&err)
	version := x.order.Uint32(b)
	if version != 2 { // since version 5 it has 2 bytes, followed by 2 bytes of padding
		version = uint32(x.order.Uint16(b))
	}
	columns, ok := packageColumns[version]
	if !ok {
		return fmt.Errorf("a package of version %d", version)
	}
	number := func(b []byte) uint64 { return uint64(x.order.Uint32(b)) }
	width, units, slots := number(b[4:]), number(b[8:]), number(b[12:])
	b = b[16:]
	if slots > uint64(len(b))/12 || width > 16 || (2*units+1)*width*4 > uint64(len(b))-slots*12 {
		return errors.New("an index that is longer than its section")
	}
	if slots&(slots-1) != 0 {
		return errors.New("an index that is no hash table")
	}
	x.ids, x.rows = b[:8*slots], b[8*slots:12*slots]
	b = b[12*slots:]
	for i := range width {
		x.sections = append(x.sections, columns[x.order.Uint32(b[4*i:])]) // "" of others
	}
	size := 4 * width * units
	x.table = [2][]byte{b[4*width : 4*width+size], b[4*width+size : 4*width+2*size]}
	return nil
}

// row finds an id in the hash table, by the standard's rule for the next slot.
func (x *unitIndex) row(id uint64) (row int, ok bool) {
	slots := uint64(len(x.rows)) / 4
	if slots == 0 {
		return 0, false
	}
	at, step := id&(slots-1), id>>32&(slots-1)|1
	for range slots {
		n := int(x.order.Uint32(x.rows[4*at:]))
		if n == 0 {
			break
		}
		if x.order.Uint64(x.ids[8*at:]) == id {
			return n - 1, n <= x.units()
		}
		at = (at + step) & (slots - 1)
	}
	return 0, false
}

// unit returns the unit with an id; nil if the package does not have it.
func (p *dwoPackage) unit(id uint64) *unitFile {
	row, ok := p.units.row(id)
	if !ok {
		return nil
	}
	return &unitFile{dwo: &p.dwoFile, at: p.units.parts(row), index: &p.types}
}

// units is the number of units in the index.
func (x *unitIndex) units() int { return len(x.table[0]) / max(4*len(x.sections), 1) }

// A sharing has the parts that are common to all units from one file.
type sharing struct{ abbrev, texts [2]uint64 }

func sharingOf(parts map[string][2]uint64) sharing {
	return sharing{parts[".debug_abbrev.dwo"], parts[".debug_str_offsets.dwo"]}
}

// with returns the rows of the units with the same shared parts, in order.
func (x *unitIndex) with(parts map[string][2]uint64) []int {
	if x.sharing == nil {
		x.sharing = map[sharing][]int{}
		for row := range x.units() {
			s := sharingOf(x.parts(row))
			x.sharing[s] = append(x.sharing[s], row)
		}
	}
	return x.sharing[sharingOf(parts)]
}

// parts returns the parts of the unit in a row: offset and size, by section.
func (x *unitIndex) parts(row int) map[string][2]uint64 {
	parts := map[string][2]uint64{}
	for i, name := range x.sections {
		at := 4 * (row*len(x.sections) + i)
		if name != "" {
			offset, size := x.order.Uint32(x.table[0][at:]), x.order.Uint32(x.table[1][at:])
			parts[name] = [2]uint64{uint64(offset), uint64(size)}
		}
	}
	return parts
}
