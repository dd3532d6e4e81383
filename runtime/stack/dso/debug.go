package dso

import (
	"bytes"
	"debug/elf"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// This file finds files elsewhere than they were mapped from: the separate file
// with the symbols and line numbers that a distribution takes out of its programs,
// and copies of programs that are gone. A build-id is certain; the name in
// .gnu_debuglink is checked by its CRC.
//
// A directory of files by build-id is laid out as distributions do it,
// .build-id/ab/cdef.debug, or as perf buildid-cache does: .build-id/ab/cdef is a
// directory, or a link to one, with elf, debug or kallsyms in it; of old it was
// the file itself.

const systemDebug = "/usr/lib/debug"

// UsualDebugDirs are perf's cache of the user, and that of the distribution.
func UsualDebugDirs() []string {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return []string{filepath.Join(home, ".debug"), systemDebug}
	}
	return []string{systemDebug}
}

// byID are the places in a directory of a file with that build-id, or of a part
// of it.
func byID(dir, id string, parts ...string) (places []string) {
	if len(id) <= 2 {
		return nil
	}
	for _, part := range parts {
		places = append(places, filepath.Join(dir, ".build-id", id[:2], id[2:])+part)
	}
	return places
}

// Cached finds a part, such as kallsyms, of the cache by build-id; "" if it is
// nowhere.
func Cached(dirs []string, id, part string) string {
	for _, dir := range dirs {
		for _, place := range byID(dir, id, "/"+part) {
			if st, err := os.Stat(place); err == nil && st.Mode().IsRegular() {
				return place
			}
		}
	}
	return ""
}

// KernelFiles are where the file of a kernel, or its debug file, may be: by its build-id, and by
// its release.
func KernelFiles(dirs []string, id, release string) (places []string) {
	for _, dir := range dirs {
		places = append(places, byID(dir, id, ".debug", "/vmlinux", "/elf", "/debug")...)
		if release != "" {
			places = append(places, filepath.Join(dir, "boot/vmlinux-"+release),
				filepath.Join(dir, "lib/modules", release, "vmlinux"))
		}
	}
	if release != "" {
		places = append(places, "/boot/vmlinux-"+release, "/lib/modules/"+release+"/build/vmlinux")
	}
	return places
}

// Debug returns the separate debug file of f, nil if there is none. The
// target's own root is asked before ours.
func (s *Store) Debug(f *File) *File {
	if f.debugAsked {
		return f.debug
	}
	f.debugAsked = true
	if s.opt.SysRoot != "" {
		if f.debug = s.copyOf(f, filepath.Join(s.opt.SysRoot, f.Name())); f.debug != nil {
			return f.debug
		}
	}
	if f.root != nil {
		if f.debug = s.debugIn(f.root, []string{systemDebug}, f); f.debug != nil {
			return f.debug
		}
	}
	if f.debug = s.debugIn(nil, s.opt.DebugDirs, f); f.debug == nil {
		f.debug = s.debugElsewhere(f)
	}
	return f.debug
}

// copyOf is the file at a place of ours if it is one with f and says more.
func (s *Store) copyOf(f *File, place string) *File {
	d, err := s.Open(nil, place)
	if err != nil || d == f || d.BuildID != f.BuildID || d.BuildID == "" {
		return nil
	}
	if im, err := d.Image(); err != nil || !im.HasSymbols() && im.Section(".debug_info") == nil {
		return nil
	}
	return d
}

func (s *Store) debugIn(r *Root, dirs []string, f *File) *File {
	for _, dir := range dirs {
		if r != nil {
			for _, place := range byID(dir, f.BuildID, ".debug") {
				if d, err := s.Open(r, place); err == nil && d.BuildID == f.BuildID {
					return d
				}
			}
			continue
		}
		for _, place := range byID(dir, f.BuildID, ".debug", "/debug", "/elf", "") {
			if d := s.copyOf(f, place); d != nil {
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
	for _, d := range dirs {
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

// maxSum bounds a file of which the sum is made.
const maxSum = 4 << 30

func (f *File) crc() uint32 {
	h := crc32.NewIEEE()
	if f.size > maxSum {
		return 0
	}
	r := io.NewSectionReader(f, 0, f.size)
	for {
		if f.store.expired() {
			return 0
		}
		if n, err := io.CopyN(h, r, piece); n < piece || err != nil {
			return h.Sum32()
		}
	}
}

// HasSymbols reports whether the image has the full symbol table.
func (im *Image) HasSymbols() bool { return im.SectionByType(elf.SHT_SYMTAB) != nil }
