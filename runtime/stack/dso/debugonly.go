package dso

import (
	"debug/elf"
	"path/filepath"
	"slices"
)

// This file reads programs of which there is nothing but the debug file. That has the addresses of
// the program's segments, and their sizes in memory, but not where they lie in the program's file,
// by which recordings tell addresses: objcopy writes 0. The mapping tells that: it has the size of
// the segment of code, in whole pages.

// An extent is a part of a file that was mapped.
type extent struct{ off, size uint64 }

// mostExtents bounds the parts of a file that are remembered: one is the code.
const mostExtents = 4

// Mapped says that a part of the file was mapped.
func (f *File) Mapped(off, size uint64) {
	if e := (extent{off, size}); f != nil && len(f.extents) < mostExtents && !slices.Contains(f.extents, e) {
		f.extents = append(f.extents, e)
	}
}

// debugFiles are the places of a debug file by build-id.
func (s *Store) debugFiles(f *File) (places []string) {
	places = slices.Clone(s.plainFiles(f.BuildID))
	for _, dir := range s.opt.DebugDirs {
		places = append(places, byID(dir, f.BuildID, ".debug", "/debug")...)
	}
	return places
}

// adoptBare takes a debug file for the program.
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

// place puts the segment of code where it was mapped from; false says that none fits, or several do.
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
