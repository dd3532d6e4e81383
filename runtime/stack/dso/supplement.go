package dso

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
)

// This file finds supplementary files: dwz moves debug information that several debug files share
// into another file, to which they refer by its path and its build-id.

// Supplement returns the supplementary file of f, a file with debug information. wants is the path
// by which f refers to it, "" if f refers to none; the file is nil if it is not found.
func (s *Store) Supplement(program, f *File) (sup *File, wants string) {
	im, err := f.Image()
	if err != nil {
		return nil, ""
	}
	name, id := im.supplement()
	if name == "" {
		return nil, ""
	}
	place := name
	if !filepath.IsAbs(name) {
		place = filepath.Join(filepath.Dir(f.Name()), name)
	}
	if d, err := s.Open(f.root, place); err == nil && d.isSupplement(id) {
		return d, name
	}
	for _, dir := range s.opt.DebugDirs {
		places := append(byID(dir, id, ".debug", "/debug", ""),
			filepath.Join(dir, ".dwz", filepath.Base(name)))
		for _, place := range places {
			if d, err := s.Open(nil, place); err == nil && d.isSupplement(id) {
				return d, name
			}
		}
	}
	for _, place := range s.plainFiles(id) {
		if d, err := s.Open(nil, place); err == nil && d.isSupplement(id) {
			return d, name
		}
	}
	if s.opt.Elsewhere.Fetch != nil {
		place, over := s.opt.Elsewhere.Fetch.Path(id, DebugInfo)
		if d, err := s.Open(nil, place); place != "" && err == nil && d.isSupplement(id) {
			return d, name
		}
		if !over {
			program.supplement = id
			s.await(program)
		}
	}
	return nil, name
}

// isSupplement reports that a file has the expected build-id, or the expected checksum in its own
// .debug_sup.
func (f *File) isSupplement(id string) bool {
	if f.BuildID == id {
		return true
	}
	im, err := f.Image()
	if err != nil {
		return false
	}
	_, own := im.debugSup(1)
	return own == id || im.BuildID() == id
}

// mostLink bounds a section that names another file, in bytes.
const mostLink = 1 << 16

// supplement reads .gnu_debugaltlink, a name that ends in 0 and a build-id, or .debug_sup of DWARF 5.
func (im *Image) supplement() (name, id string) {
	if name, id = im.debugSup(0); name != "" {
		return name, id
	}
	b, err := im.Wide(".gnu_debugaltlink", mostLink)
	if err != nil {
		return "", ""
	}
	n := bytes.IndexByte(b, 0)
	if n <= 0 || n+1 == len(b) {
		return "", ""
	}
	return string(b[:n]), hex.EncodeToString(b[n+1:])
}

// debugSup reads .debug_sup: a version, whether the file is the supplementary one, the name of the other
// file, and a checksum with its length.
func (im *Image) debugSup(is byte) (name, sum string) {
	b, err := im.Wide(".debug_sup", mostLink)
	if err != nil || len(b) < 4 || b[2] != is {
		return "", ""
	}
	n := bytes.IndexByte(b[3:], 0)
	if n < 0 {
		return "", ""
	}
	name, b = string(b[3:3+n]), b[3+n+1:]
	size, used := binary.Uvarint(b)
	if used <= 0 || size == 0 || size > uint64(len(b)-used) {
		return "", ""
	}
	return name, hex.EncodeToString(b[used : used+int(size)])
}
