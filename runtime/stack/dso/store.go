package dso

import (
	"container/list"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Options of a Store. The zero value is for a live run.
type Options struct {
	Proc string // "/proc" if empty
	// NoProc says that the processes are not of this machine: files are
	// searched by path and build-id only, when they are needed.
	NoProc bool
	// SameKernel says that a recording is of the running kernel, so that its
	// processes have the same vDSO.
	SameKernel bool
	// SysRoot is a directory in which files are searched by their path: for a
	// recording before other places, in a live run if the mapped file has no
	// symbols.
	SysRoot string
	// BuildIDs are the build-ids, in hex, of a recording's files by path. A
	// file with another build-id is not used.
	BuildIDs map[string]string
	// DebugDirs are directories with separate debug files, and files by
	// build-id; {"/usr/lib/debug"} if nil.
	DebugDirs []string
	// Elsewhere says where files are searched that are in none of these places.
	Elsewhere Elsewhere
	// MaxOpen bounds the open files; 0 means 256, or a quarter of the process's
	// limit if that is less. Beyond it, the file that was not mapped for
	// longest is closed and removed from the Store.
	MaxOpen int
	// MaxDeleted bounds the bytes of deleted files, whose disk space is freed
	// only when they are closed; 0 means 256 MiB. Beyond it, they are closed in
	// the same way.
	MaxDeleted int64
	// Expired is called repeatedly while a file is read; true ends the reading.
	// May be nil.
	Expired func() bool
	// Fits reports that there is memory for a number of bytes of a file and for the tables made
	// from them; nil means that there always is.
	Fits func(bytes int64) bool
	// Note is called for parts of a file that exist but were not read; may be
	// nil.
	Note func(f *File, err error)
}

// Stats counts the work of a Store.
type Stats struct {
	Files    int    // distinct files
	Open     int    // open files
	Closed   uint64 // files closed since a bound was reached
	NotFound uint64 // mappings whose file was not found
}

// An ID identifies a file on a machine; mapping records have it.
type ID struct {
	Maj, Min uint32
	Ino, Gen uint64
}

// A Store has the files of a run. It is used by one goroutine.
type Store struct {
	opt     Options
	byID    map[ID]*File
	byBuild map[string]*File
	byPath  map[pathKey]*File
	missing map[pathKey]*File // files not found so far, with the reason
	memory  map[ID]bool       // files in memory that are no programs
	used    *list.List        // list of open *File, the most recent first
	opened  int               // number of files opened so far
	roots   []*Root
	own     rootKey
	stats   Stats
	vdso    *File
	vdsoErr bool
	plain   map[string][]string // files of Elsewhere.Plain by build-id; nil until they are needed
	waiting map[*File]bool      // files for which a fetch is in progress
}

type pathKey struct {
	root *Root
	path string
}

// NewStore makes an empty Store.
func NewStore(o Options) *Store {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.DebugDirs == nil {
		o.DebugDirs = []string{systemDebug}
	}
	if o.SysRoot != "" {
		o.DebugDirs = append([]string{filepath.Join(o.SysRoot, systemDebug)}, o.DebugDirs...)
	}
	if o.MaxOpen <= 0 {
		o.MaxOpen = 256
		var limit unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
			o.MaxOpen = int(min(256, max(16, limit.Cur/4)))
		}
	}
	if o.MaxDeleted <= 0 {
		o.MaxDeleted = 256 << 20
	}
	return &Store{
		opt:     o,
		byID:    map[ID]*File{},
		byBuild: map[string]*File{},
		byPath:  map[pathKey]*File{},
		missing: map[pathKey]*File{},
		memory:  map[ID]bool{},
		used:    list.New(),
	}
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	s.stats.Files, s.stats.Open = len(s.byID)+len(s.byPath), s.used.Len()
	return s.stats
}

// Close closes all files. The parts of Images that were read stay usable.
func (s *Store) Close() error {
	for s.used.Len() > 0 {
		s.used.Front().Value.(*File).close()
	}
	for _, r := range s.roots {
		r.dir.Close()
	}
	s.roots = nil
	return nil
}

// Root returns the root directory of a running process.
func (s *Store) Root(pid int32) (*Root, error) {
	if s.opt.NoProc {
		return nil, nil
	}
	return s.rootOf(filepath.Join(s.opt.Proc, strconv.Itoa(int(pid))))
}

// A Mapping describes a mapped file to find.
type Mapping struct {
	PID        int32
	Start, End uint64 // addresses of the mapping, for /proc/PID/map_files
	Path       string // as the process sees it
	ID         ID     // zero if unknown
	BuildID    string // in hex, empty if unknown
	Root       *Root  // root of the process
}

// Find returns the file of a mapping, nil if there is none: memory without a
// file, or a file that cannot be found. A live Store opens it at once.
func (s *Store) Find(m Mapping) *File {
	if !strings.HasPrefix(m.Path, "/") || strings.HasPrefix(m.Path, "//") {
		return nil
	}
	// Memory that has a file's form, in which JIT compilers map their code.
	inMemory := strings.HasPrefix(m.Path, "/memfd:") || strings.HasPrefix(m.Path, "/dev/shm/")
	if !inMemory && strings.HasPrefix(m.Path, "/dev/") || strings.HasPrefix(m.Path, "/SYSV") ||
		strings.HasPrefix(m.Path, "/anon_hugepage") {
		return nil
	}
	if m.BuildID == "" {
		m.BuildID = s.opt.BuildIDs[m.Path]
	}
	if inMemory && m.BuildID == "" && (s.opt.NoProc || !s.program(m)) {
		return nil
	}
	if m.BuildID != "" {
		if f := s.byBuild[m.BuildID]; f != nil {
			return s.again(f)
		}
	}
	key := pathKey{m.Root, m.Path}
	if m.ID != (ID{}) {
		if f := s.byID[m.ID]; f != nil {
			return s.again(f)
		}
	} else if f := s.byPath[key]; f != nil && (m.BuildID == "" || m.BuildID == f.BuildID) {
		return s.again(f)
	}
	f := s.missing[key]
	if f == nil || f.ID != m.ID || f.BuildID != m.BuildID {
		f = &File{Path: m.Path, BuildID: m.BuildID, ID: m.ID, root: m.Root, store: s}
	}
	if !s.opt.NoProc {
		if err := f.open(&m); err != nil {
			// This is tried again when another process maps the file.
			s.stats.NotFound++
			if len(s.missing) < maxMissing {
				s.missing[key] = f
			}
			return f
		}
		delete(s.missing, key)
		f.err = nil
		// A file that another process has under another ID.
		if f.BuildID != "" {
			if same := s.byBuild[f.BuildID]; same != nil {
				f.close()
				f = s.again(same)
			} else {
				s.byBuild[f.BuildID] = f
			}
		}
	} else if m.BuildID != "" {
		s.byBuild[m.BuildID] = f
	}
	if m.ID == (ID{}) {
		s.byPath[key] = f
		f.keys = append(f.keys, key)
		return f
	}
	s.byID[m.ID] = f
	if f.ids = append(f.ids, m.ID); len(f.ids) > maxCopies {
		delete(s.byID, f.ids[0])
		f.ids = f.ids[1:]
	}
	return f
}

// program reports that a file in memory is a program or library, and not code made by a compiler.
func (s *Store) program(m Mapping) bool {
	if m.ID != (ID{}) {
		if s.byID[m.ID] != nil {
			return true
		} else if s.memory[m.ID] {
			return false
		}
	}
	f := &File{Path: m.Path, ID: m.ID, root: m.Root, store: s}
	for _, try := range f.ways(&m) {
		file, err := f.mapped(try)
		if err != nil {
			continue
		}
		var magic [4]byte
		_, err = file.ReadAt(magic[:], 0)
		file.Close()
		if err == nil && string(magic[:]) == elf.ELFMAG {
			return true
		}
		break
	}
	if m.ID != (ID{}) && len(s.memory) < maxMissing {
		s.memory[m.ID] = true
	}
	return false
}

// maxCopies bounds the IDs of one file: the image of every container may have a
// copy.
const maxCopies = 64

// again records a new use of a file.
func (s *Store) again(f *File) *File {
	if f.elem != nil {
		s.used.MoveToFront(f.elem)
	}
	return f
}

// maxMissing bounds the remembered files that were not found.
const maxMissing = 4096

// Open opens a file by its path in r, for files that are not mapped.
func (s *Store) Open(r *Root, path string) (*File, error) {
	key := pathKey{r, path}
	if f := s.byPath[key]; f != nil {
		return f, nil
	}
	f := &File{Path: path, root: r, store: s}
	if err := f.open(nil); err != nil {
		return nil, err
	}
	s.byPath[key] = f
	f.keys = append(f.keys, key)
	return f, nil
}

// keep puts an open file at the front of the list, and closes files beyond the
// bound.
func (s *Store) keep(f *File) {
	if f.elem != nil {
		s.used.MoveToFront(f.elem)
		return
	}
	f.elem = s.used.PushFront(f)
	if s.opened++; s.opened%sweepEvery == 0 {
		s.sweep()
	}
	for s.used.Len() > s.opt.MaxOpen {
		s.stats.Closed++
		s.forget(s.used.Back().Value.(*File))
	}
}

// sweepEvery is the number of opened files after which deleted ones are
// searched.
const sweepEvery = 16

// sweep closes deleted files that use too much disk space, except the one that
// was just opened.
func (s *Store) sweep() {
	held := int64(0)
	for e := s.used.Front().Next(); e != nil; {
		f, next := e.Value.(*File), e.Next()
		var st unix.Stat_t
		if unix.Fstat(int(f.file.Fd()), &st) == nil && st.Nlink == 0 {
			if held += st.Size; held > s.opt.MaxDeleted {
				held -= st.Size
				s.stats.Closed++
				s.forget(f)
			}
		}
		e = next
	}
}

// forget closes a file and removes it from the Store. A caller that still has it can read it by
// its path. A later mapping gets a new File, since a new file may have its inode.
func (s *Store) forget(f *File) {
	f.close()
	if s.byBuild[f.BuildID] == f {
		delete(s.byBuild, f.BuildID)
	}
	for _, id := range f.ids {
		delete(s.byID, id)
	}
	for _, key := range f.keys {
		delete(s.byPath, key)
	}
	f.ids, f.keys = nil, nil
}

// A File is a file from which code was mapped.
type File struct {
	Path    string // as the process sees it
	BuildID string // in hex, empty if it has none
	ID      ID

	store *Store
	root  *Root
	ids   []ID      // IDs of this file in the Store
	keys  []pathKey // paths of this file in the Store
	elem  *list.Element
	content
	image      *Image
	err        error // reason if there is no image
	debug      *File
	debugAsked bool   // Debug was called before
	name       string // its path without the kernel's additions; "" if it was not opened
	// supplement is the build-id of the supplementary file that is being
	// fetched.
	supplement string
}

// content is the source of the file's bytes.
type content struct {
	file *os.File
	size int64  // size of file
	mem  []byte // instead of a file: the vDSO
	// bare says that the file has only the symbols of the program: see debugonly.go.
	bare    bool
	extents []extent
}

// errGone is the reason if the file was replaced after it was mapped.
var errGone = errors.New("the file at this path is another one than was mapped")

// ways are the ways to open a mapped file: by the mapping itself in /proc, which also works for a
// deleted file, then by its path in the process's root. The kernel adds a suffix to the path of a
// deleted file, which is removed unless a file has that very name.
func (f *File) ways(m *Mapping) (tries []func() (*os.File, error)) {
	s := f.store
	if f.certain(m) {
		tries = append(tries, func() (*os.File, error) {
			file, err := (*Root)(nil).Open(filepath.Join(s.opt.Proc, strconv.Itoa(int(m.PID)), "map_files",
				strconv.FormatUint(m.Start, 16)+"-"+strconv.FormatUint(m.End, 16)))
			if strings.HasSuffix(f.Path, deleted) && err == nil {
				var st unix.Stat_t
				if unix.Fstat(int(file.Fd()), &st) == nil && st.Nlink > 0 {
					f.name = f.Path // a file has that name
				}
			}
			return file, err
		})
		if f.ID.Ino != 0 && strings.HasSuffix(f.Path, deleted) {
			tries = append(tries, func() (*os.File, error) { return f.running(m.PID) })
		}
	}
	for _, path := range f.paths() {
		if s.opt.SysRoot != "" && s.opt.NoProc {
			tries = append(tries, func() (*os.File, error) {
				return (*Root)(nil).Open(filepath.Join(s.opt.SysRoot, path))
			})
		}
		tries = append(tries, func() (*os.File, error) {
			file, err := f.root.Open(path)
			if err == nil {
				f.name = path
			}
			return file, err
		})
	}
	return tries
}

// running opens the program of a process by /proc/PID/exe, if it is the file. Unlike map_files,
// that needs no privilege, and it also works for a deleted program.
func (f *File) running(pid int32) (*os.File, error) {
	file, err := (*Root)(nil).Open(filepath.Join(f.store.opt.Proc, strconv.Itoa(int(pid)), "exe"))
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil || st.Ino != f.ID.Ino ||
		unix.Major(uint64(st.Dev)) != f.ID.Maj || unix.Minor(uint64(st.Dev)) != f.ID.Min {
		file.Close()
		return nil, errGone
	}
	return file, nil
}

// certain reports that a way is the mapping itself.
func (f *File) certain(m *Mapping) bool {
	return m != nil && m.End > m.Start && m.PID > 0 && !f.store.opt.NoProc
}

// deleted is the kernel's suffix for the path of a deleted file.
const deleted = " (deleted)"

// paths returns the paths that the file may have.
func (f *File) paths() []string {
	if path, cut := strings.CutSuffix(f.Path, deleted); cut {
		return []string{f.Path, path}
	}
	return []string{f.Path}
}

// open tries the ways to open a file, then its path in our root.
func (f *File) open(m *Mapping) error {
	s := f.store
	tries, exact := f.ways(m), f.certain(m)

	// There may be a copy of a file that is of another machine, or was deleted.
	known := len(tries)
	for _, dir := range s.opt.DebugDirs {
		for _, at := range byID(dir, f.BuildID, "/elf", "", ".debug") {
			tries = append(tries, func() (*os.File, error) { return (*Root)(nil).Open(at) })
		}
	}
	for _, path := range f.paths() {
		if s.opt.SysRoot != "" && !s.opt.NoProc {
			tries = append(tries, func() (*os.File, error) {
				return (*Root)(nil).Open(filepath.Join(s.opt.SysRoot, path))
			})
		}
	}
	cached := len(tries)
	for _, path := range f.paths() {
		if f.root != nil && m != nil {
			tries = append(tries, func() (*os.File, error) { return (*Root)(nil).Open(path) })
		}
	}
	var first error
	for i, try := range tries {
		file, err := f.mapped(try)
		if err == nil {
			if err = f.adopt(file, exact && i == 0 || i >= known && i < cached); err == nil {
				return nil
			}
			file.Close()
		}
		if first == nil || errors.Is(first, os.ErrNotExist) {
			first = err
		}
	}
	if m == nil && f.elsewhere() == nil {
		return nil // it is needed now, not only mapped
	}
	return first
}

// reopen opens a closed file again, and adds it to the Store again.
func (f *File) reopen() error {
	if err := f.open(nil); err != nil {
		return err
	}
	if s := f.store; f.BuildID != "" && s.byBuild[f.BuildID] == nil {
		s.byBuild[f.BuildID] = f
	}
	return nil
}

// adopt uses an opened file if it is the mapped one. certain says that it was
// opened through the mapping itself.
func (f *File) adopt(file *os.File, certain bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return err
	}
	if !certain && f.ID.Ino != 0 && !f.store.opt.NoProc {
		// On overlayfs and btrfs, the device number of a file differs from the
		// mapping's, and the inode may differ too.
		sameDev := unix.Major(uint64(st.Dev)) == f.ID.Maj && unix.Minor(uint64(st.Dev)) == f.ID.Min
		if sameDev && st.Ino != f.ID.Ino {
			return errGone
		}
	}
	id := buildIDOf(file, st.Size)
	if id == "" && f.BuildID != "" {
		// Go's linker does not put the build-id into the segment of notes.
		if im, err := ReadImage(file, st.Size); err == nil {
			id = im.BuildID()
		}
	}
	if f.BuildID != "" && id != f.BuildID {
		return errGone
	}
	f.BuildID, f.file, f.size, f.bare = id, file, st.Size, false
	f.store.keep(f)
	return nil
}

func (f *File) close() {
	if f.elem != nil {
		f.store.used.Remove(f.elem)
		f.elem = nil
	}
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

// Opened reports whether the file can be read.
func (f *File) Opened() bool { return f.file != nil || f.mem != nil || f.image != nil }

// Size is the size of the file in bytes, 0 if it was never opened.
func (f *File) Size() int64 { return f.size }

// Root is the root directory of Path.
func (f *File) Root() *Root { return f.root }

// Name is the path of the file without the kernel's suffix.
func (f *File) Name() string {
	if f.name != "" {
		return f.name
	}
	return strings.TrimSuffix(f.Path, deleted)
}

// ReadAt implements io.ReaderAt; it opens a closed file again.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if f.mem != nil {
		if off < 0 || off >= int64(len(f.mem)) {
			return 0, os.ErrInvalid
		}
		n := copy(p, f.mem[off:])
		if n < len(p) {
			return n, os.ErrInvalid
		}
		return n, nil
	}
	if f.file == nil {
		if err := f.reopen(); err != nil {
			return 0, err
		}
	} else {
		f.store.keep(f)
	}
	return f.file.ReadAt(p, off)
}
