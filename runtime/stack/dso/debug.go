package dso

import (
	"bytes"
	"debug/elf"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// This file finds files at other places than the mapped path: the separate files
// into which distributions move the symbols and line numbers of programs, and
// copies of deleted programs. A build-id identifies a file with certainty; a file
// named by .gnu_debuglink is checked by its CRC.
//
// A directory of files by build-id has the layout of distributions,
// .build-id/ab/cdef.debug, or of perf buildid-cache: .build-id/ab/cdef is a
// directory, or a link to one, with files elf, debug or kallsyms; with old
// versions it is the file itself.

const systemDebug = "/usr/lib/debug"

// UsualDebugDirs are the user's cache of perf, and the directory of the
// distribution.
func UsualDebugDirs() []string {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return []string{filepath.Join(home, ".debug"), systemDebug}
	}
	return []string{systemDebug}
}

// byID lists the paths in a directory for a file with a build-id, or for a part
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

// Cached finds a part, such as kallsyms, for a build-id in these directories;
// "" if there is none.
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

// KernelFiles lists the possible paths of a kernel's file or its debug file, by its build-id and
// by its release.
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

// Debug returns the separate debug file of f, nil if there is none. It is
// searched below the target's own root before ours.
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

// copyOf returns the file at a path in our root, if it has the build-id of f
// and more information.
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

// maxSum bounds a file whose checksum is computed, in bytes.
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
