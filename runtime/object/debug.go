package object

import (
	"bytes"
	"debug/elf"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// This file finds the separate file with the symbols and line numbers that a
// distribution takes out of its programs: by build-id, which is certain, then
// by the name in .gnu_debuglink, which is checked by its CRC.

// Debug returns the separate debug file of f, nil if there is none. The
// target's own root is asked before ours.
func (s *Store) Debug(f *File) *File {
	if f.asked {
		return f.debug
	}
	f.asked = true
	roots := []*Root{f.root}
	if f.root != nil {
		roots = append(roots, nil)
	}
	for _, r := range roots {
		if d := s.debugIn(r, f); d != nil {
			f.debug = d
			return d
		}
	}
	return nil
}

func (s *Store) debugIn(r *Root, f *File) *File {
	if id := f.BuildID; len(id) > 2 {
		for _, dir := range s.opt.DebugDirs {
			d, err := s.Open(r, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
			if err == nil && d.BuildID == id {
				return d
			}
		}
	}
	im, err := f.Image()
	if err != nil {
		return nil
	}
	name, sum, ok := im.debugLink()
	if !ok {
		return nil
	}
	dir := filepath.Dir(f.Name())
	places := []string{filepath.Join(dir, name), filepath.Join(dir, ".debug", name)}
	for _, d := range s.opt.DebugDirs {
		places = append(places, filepath.Join(d, dir, name))
	}
	for _, place := range places {
		if place == f.Name() {
			continue
		}
		if d, err := s.Open(r, place); err == nil && d.crc() == sum {
			return d
		}
	}
	return nil
}

// debugLink reads .gnu_debuglink: a name, padding to 4 bytes, a CRC-32.
func (im *Image) debugLink() (name string, sum uint32, ok bool) {
	b, err := im.Data(".gnu_debuglink")
	if err != nil || len(b) < 8 || len(b) > 4096 {
		return "", 0, false
	}
	n := bytes.IndexByte(b, 0)
	at := (n + 4) &^ 3
	if n <= 0 || at+4 > len(b) {
		return "", 0, false
	}
	name = string(b[:n])
	if name != filepath.Base(name) || name == ".." {
		return "", 0, false
	}
	return name, im.ByteOrder.Uint32(b[at:]), true
}

func (f *File) crc() uint32 {
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, f.size)); err != nil && err != io.EOF {
		return 0
	}
	return h.Sum32()
}

// HasSymbols reports whether the image has the full symbol table.
func (im *Image) HasSymbols() bool { return im.SectionByType(elf.SHT_SYMTAB) != nil }

// ReadFile reads a regular file below r that somebody else may have written,
// at most limit bytes of it.
func (r *Root) ReadFile(path string, limit int64) ([]byte, os.FileInfo, error) {
	f, err := r.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit))
	return b, info, err
}
