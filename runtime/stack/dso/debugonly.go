package dso

import (
	"debug/elf"
	"path/filepath"
	"slices"
)

// This file handles programs for which only the debug file is found. It has the addresses and
// sizes of the program's segments, but not their offsets in the program's file, to which addresses
// in recordings refer: objcopy writes 0. The mapping of the code has that offset, and is
// recognized by the size of the segment in whole pages.

// An extent is a part of a file that was mapped.
type extent struct{ off, size uint64 }

// mostExtents bounds the remembered parts of a file, of which one is the code.
const mostExtents = 4

// Mapped records that a part of the file was mapped.
func (f *File) Mapped(off, size uint64) {
	if e := (extent{off, size}); f != nil && len(f.extents) < mostExtents && !slices.Contains(f.extents, e) {
		f.extents = append(f.extents, e)
	}
}

// debugFiles lists the possible paths of a debug file by build-id.
func (s *Store) debugFiles(f *File) (places []string) {
	places = slices.Clone(s.plainFiles(f.BuildID))
	for _, dir := range s.opt.DebugDirs {
		places = append(places, byID(dir, f.BuildID, ".debug", "/debug")...)
	}
	return places
}

// adoptBare uses a debug file in place of the program.
func (f *File) adoptBare(path string) bool {
	if f.BuildID == "" || len(f.extents) == 0 {
		return false
	}
	file, err := (*Root)(nil).Open(filepath.Clean(path))
	if err != nil {
		return false
	}
	st, err := file.Stat()
	if err == nil {
		var im *Image
		if im, err = ReadImage(file, st.Size()); err == nil && (!im.HasSymbols() || !im.place(f.extents)) {
			err = errGone
		}
	}
	if err != nil || f.adopt(file, true) != nil {
		file.Close()
		return false
	}
	f.bare = true
	return true
}

// place sets the offset of the segment of code from its mapping; false if no segment fits, or
// several do.
func (im *Image) place(mapped []extent) bool {
	var found *elf.ProgHeader
	for i := range im.load {
		p := &im.load[i]
		if p.Flags&elf.PF_X == 0 {
			continue
		}
		lead := p.Vaddr & 0xfff
		for _, e := range mapped {
			if e.size != (lead+p.Memsz+0xfff)&^0xfff {
				continue
			}
			if found != nil {
				return false
			}
			found = &elf.ProgHeader{Type: p.Type, Flags: p.Flags, Off: e.off + lead, Vaddr: p.Vaddr,
				Paddr: p.Paddr, Filesz: p.Memsz, Memsz: p.Memsz, Align: p.Align}
		}
	}
	if found == nil {
		return false
	}
	im.load = []elf.ProgHeader{*found}
	return true
}
