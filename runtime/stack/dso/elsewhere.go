package dso

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
)

// This file finds files that are not at the mapped path: by their build-ids in directories with
// any layout, and on servers, from which they are fetched in the background.

// An Elsewhere says where files are searched that are not found otherwise.
type Elsewhere struct {
	// Plain are directories with files of any names, at any depth.
	Plain []string
	// Fetch fetches files by build-id from servers; may be nil.
	Fetch Fetcher
}

// A Fetcher fetches files in the background; runtime/stack/debuginfod has one. The interface is
// here so that this package does not depend on the network.
type Fetcher interface {
	// Path is the path of a file, "" if it is not on this machine. over says that this is final.
	Path(id string, part Part) (path string, over bool)
}

// A Part says which file of a build-id is meant, by the names of debuginfod.
type Part string

const (
	DebugInfo  Part = "debuginfo"  // symbols and lines
	Executable Part = "executable" // the program
)

// mostPlain bounds the files in Plain whose build-id is read.
const mostPlain = 200_000

// plainFiles lists the files with a build-id in the directories of Plain.
func (s *Store) plainFiles(id string) []string {
	if len(s.opt.Elsewhere.Plain) == 0 || id == "" {
		return nil
	}
	if s.plain == nil {
		s.plain = PlainFiles(s.opt.Elsewhere.Plain, s.expired)
	}
	return s.plain[id]
}

// PlainFiles lists the files in directories, at any depth, by their build-ids.
func PlainFiles(dirs []string, expired func() bool) map[string][]string {
	files := map[string][]string{}
	seen := 0
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // ignore files that cannot be read
			}
			if seen++; seen > mostPlain || expired != nil && expired() {
				return filepath.SkipAll
			}
			if id := FileBuildID(path); id != "" {
				files[id] = append(files[id], path)
			}
			return nil
		})
	}
	return files
}

// FileBuildID is the build-id of the file at path in hex; empty if there is none. It also works
// for debug files that have copied the program headers of their program.
func FileBuildID(path string) string {
	if id := ReadBuildID(path, 0); id != "" {
		return id
	}
	f, err := (*Root)(nil).Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	im, err := ReadImage(f, st.Size())
	if err != nil {
		return ""
	}
	return im.BuildID()
}

// onlyDebug reports that a file has the symbols of a program, but not its code.
func onlyDebug(file *os.File) bool {
	st, err := file.Stat()
	if err != nil {
		return true
	}
	im, err := ReadImage(file, st.Size())
	if err != nil {
		return true
	}
	for _, s := range im.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type != elf.SHT_NOBITS {
			return false
		}
	}
	return true
}

// elsewhere opens a file in one of these places. It does not wait for a file that is being
// fetched.
func (f *File) elsewhere() error {
	s := f.store
	take := func(path string) bool {
		file, err := (*Root)(nil).Open(path)
		if err != nil {
			return false
		}
		if onlyDebug(file) || f.adopt(file, true) != nil {
			file.Close()
			return false
		}
		return true
	}
	for _, path := range s.plainFiles(f.BuildID) {
		if take(path) {
			return nil
		}
	}
	for _, path := range s.debugFiles(f) {
		if f.adoptBare(path) {
			return nil
		}
	}
	if s.opt.Elsewhere.Fetch != nil && f.BuildID != "" {
		path, over := s.opt.Elsewhere.Fetch.Path(f.BuildID, Executable)
		if path != "" && take(path) {
			return nil
		}
		// A program without symbols also needs its debug file, which alone may suffice.
		path, settled := s.opt.Elsewhere.Fetch.Path(f.BuildID, DebugInfo)
		if over && path != "" && f.adoptBare(path) {
			return nil
		}
		if !over || !settled {
			s.await(f)
		}
	}
	return errGone
}

// debugElsewhere returns the debug file of f in one of these places, nil if it is not there now.
func (s *Store) debugElsewhere(f *File) *File {
	for _, path := range s.plainFiles(f.BuildID) {
		if d := s.copyOf(f, path); d != nil {
			return d
		}
	}
	if s.opt.Elsewhere.Fetch == nil || f.BuildID == "" {
		return nil
	}
	path, over := s.opt.Elsewhere.Fetch.Path(f.BuildID, DebugInfo)
	if path != "" {
		return s.copyOf(f, path)
	}
	if !over {
		s.await(f)
	}
	return nil
}

// await records that a file for f is being fetched.
func (s *Store) await(f *File) {
	if s.waiting == nil {
		s.waiting = map[*File]bool{}
	}
	s.waiting[f] = true
}

// Fetched lists the files for which a fetch has ended since the last call. Tables made from
// them must be made again.
func (s *Store) Fetched() (files []*File) {
	fetch := s.opt.Elsewhere.Fetch
	for f := range s.waiting {
		_, over := fetch.Path(f.BuildID, DebugInfo)
		if !f.Opened() {
			_, is := fetch.Path(f.BuildID, Executable)
			over = over && is
		}
		if f.supplement != "" {
			_, is := fetch.Path(f.supplement, DebugInfo)
			over = over && is
		}
		if !over {
			continue
		}
		delete(s.waiting, f)
		f.err, f.supplement = nil, ""
		f.debugAsked = f.debug != nil
		files = append(files, f)
	}
	return files
}
