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
	// looked for by path and build-id only, when they are needed.
	NoProc bool
	// SameKernel says that a recording is of the kernel that runs now: the
	// vDSO of its processes is ours.
	SameKernel bool
	// SysRoot is put before the paths of files: there they are looked for first
	// if they are a recording's, else where those that are mapped have no symbols.
	SysRoot string
	// BuildIDs are the build-ids, in hex, that a recording tells of its files
	// by path. A file with another one is not taken for the recorded.
	BuildIDs map[string]string
	// DebugDirs hold separate debug files, and files by build-id;
	// {"/usr/lib/debug"} if nil.
	DebugDirs []string
	// Elsewhere is where files are looked for that are in none of these.
	Elsewhere Elsewhere
	// MaxOpen bounds the files held open; 0 is 256, or a quarter of the
	// process's limit if that is less. Beyond it the one of which nothing
	// was heard for longest is closed and no longer known.
	MaxOpen int
	// MaxDeleted bounds the bytes of files that were deleted, whose disk space
	// is only given back when they are closed; 0 is 256 MiB. Beyond it they are
	// closed as above.
	MaxDeleted int64
	// Expired is asked again and again while a file is read; true ends that. Nil
	// never does.
	Expired func() bool
	// Fits reports that there is memory for so many bytes of a file at once, and for what is made of them;
	// nil that there always is.
	Fits func(bytes int64) bool
	// Note is called for parts of a file that were not read although they are
	// there. Nil drops that.
	Note func(f *File, err error)
}

// Stats counts the work of a Store.
type Stats struct {
	Files    int    // distinct files known
	Open     int    // open now
	Closed   uint64 // closed to stay in the bound
	NotFound uint64 // mappings whose file was not found
}

// An ID tells files of a machine apart, as mapping records carry it.
type ID struct {
	Maj, Min uint32
	Ino, Gen uint64
}

// A Store is the files of a run. It is used by one goroutine.
type Store struct {
	opt     Options
	byID    map[ID]*File
	byBuild map[string]*File
	byPath  map[pathKey]*File
	missing map[pathKey]*File // not found yet, with the reason
	memory  map[ID]bool       // files in memory that are no programs
	used    *list.List        // of *File that are open, the most recent first
	opened  int               // so many were
	roots   []*Root
	own     rootKey
	stats   Stats
	vdso    *File
	vdsoErr bool
	plain   map[string][]string // files of Elsewhere.Plain by build-id; nil before they were looked at
	waiting map[*File]bool      // of which something is being fetched
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

// Close closes all files. Images stay usable as far as they were read.
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

// Root returns the root directory of a process that is alive.
func (s *Store) Root(pid int32) (*Root, error) {
	if s.opt.NoProc {
		return nil, nil
	}
	return s.rootOf(filepath.Join(s.opt.Proc, strconv.Itoa(int(pid))))
}

// A Mapping describes a mapped file that is looked for.
type Mapping struct {
	PID        int32
	Start, End uint64 // of the mapping, for /proc/PID/map_files
	Path       string // in the process's view
	ID         ID     // zero if not known
	BuildID    string // in hex, empty if not known
	Root       *Root  // of the process
}

// Find returns the file of a mapping, nil if there is none: memory without a
// file, or a file that cannot be found. A live Store opens it at once.
func (s *Store) Find(m Mapping) *File {
	if !strings.HasPrefix(m.Path, "/") || strings.HasPrefix(m.Path, "//") {
		return nil
	}
	// Memory that looks like a file; JIT compilers map their code so.
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
			// It is tried again when another process maps it.
			s.stats.NotFound++
			if len(s.missing) < maxMissing {
				s.missing[key] = f
			}
			return f
		}
		delete(s.missing, key)
		f.err = nil
		// A file that another process showed under another number.
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

// program reports that a file in memory is a program or library, rather than code that a compiler made.
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

// maxCopies bounds the numbers under which one file is known: it lies in the
// image of every container.
const maxCopies = 64

// again notes that something was heard of a file.
func (s *Store) again(f *File) *File {
	if f.elem != nil {
		s.used.MoveToFront(f.elem)
	}
	return f
}

// maxMissing bounds the files that are remembered although they were not found.
const maxMissing = 4096

// Open opens a file by its path in r, for a file that is named rather than
// mapped.
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

// keep puts an opened file in front and closes those beyond the bound.
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

// sweepEvery is after how many opened files it is looked for deleted ones.
const sweepEvery = 16

// sweep closes deleted files that hold too much of the disk, but for the one
// that was opened just now.
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

// forget closes a file. A caller that has it still reads it by its path; a process that maps it
// from now on gets another: its inode may be that of a new file.
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

// A File is one file that code was mapped from.
type File struct {
	Path    string // as the process sees it
	BuildID string // in hex, empty if it has none
	ID      ID

	store *Store
	root  *Root
	ids   []ID      // under which the store knows it
	keys  []pathKey // too
	elem  *list.Element
	content
	image      *Image
	err        error // why there is no image
	debug      *File
	debugAsked bool   // for debug
	name       string // its path without the kernel's additions; "" if it was not opened
	// supplement is the build-id of a supplementary file that is being fetched.
	supplement string
}

// content is what the file's bytes are read from.
type content struct {
	file *os.File
	size int64  // of file
	mem  []byte // instead of a file: the vDSO
	// bare says that the file has the symbols of the program alone: see debugonly.go.
	bare    bool
	extents []extent
}

// errGone is the reason when the file was replaced since it was mapped.
var errGone = errors.New("the file at this path is another one than was mapped")

// ways are those to a file that is where it was mapped from: by the mapping itself, which also finds a
// deleted file, then by its path in the process's root, if need be without what the kernel puts behind the
// path of a deleted file: there may be a file of that name.
func (f *File) ways(m *Mapping) (tries []func() (*os.File, error)) {
	s := f.store
	if f.certain(m) {
		tries = append(tries, func() (*os.File, error) {
			file, err := (*Root)(nil).Open(filepath.Join(s.opt.Proc, strconv.Itoa(int(m.PID)), "map_files",
				strconv.FormatUint(m.Start, 16)+"-"+strconv.FormatUint(m.End, 16)))
			if strings.HasSuffix(f.Path, deleted) && err == nil {
				var st unix.Stat_t
				if unix.Fstat(int(file.Fd()), &st) == nil && st.Nlink > 0 {
					f.name = f.Path // it is called so
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

// running opens the program of a process, if it is the file: mappings are for privileged readers, which may
// have given up what it takes, and a deleted program has no path.
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

// certain reports that the first way is the mapping itself.
func (f *File) certain(m *Mapping) bool {
	return m != nil && m.End > m.Start && m.PID > 0 && !f.store.opt.NoProc
}

// deleted is what the kernel puts behind the path of a deleted file.
const deleted = " (deleted)"

// paths returns the paths that the file may have.
func (f *File) paths() []string {
	if path, cut := strings.CutSuffix(f.Path, deleted); cut {
		return []string{f.Path, path}
	}
	return []string{f.Path}
}

// open tries the ways to a file, then its path in our root.
func (f *File) open(m *Mapping) error {
	s := f.store
	tries, exact := f.ways(m), f.certain(m)

	// A file of a recording from elsewhere, or one that is gone, may have been copied.
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
		return nil // it is wanted now, not only mapped
	}
	return first
}

// reopen opens a file that was closed; a process that maps it from now on gets it again.
func (f *File) reopen() error {
	if err := f.open(nil); err != nil {
		return err
	}
	if s := f.store; f.BuildID != "" && s.byBuild[f.BuildID] == nil {
		s.byBuild[f.BuildID] = f
	}
	return nil
}

// adopt takes an opened file if it is the one that was mapped. certain says
// that the kernel itself led to it.
func (f *File) adopt(file *os.File, certain bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return err
	}
	if !certain && f.ID.Ino != 0 && !f.store.opt.NoProc {
		// Overlay and btrfs show files under other device numbers than
		// mappings do, and then the inode may differ too.
		sameDev := unix.Major(uint64(st.Dev)) == f.ID.Maj && unix.Minor(uint64(st.Dev)) == f.ID.Min
		if sameDev && st.Ino != f.ID.Ino {
			return errGone
		}
	}
	id := buildIDOf(file, st.Size)
	if id == "" && f.BuildID != "" {
		// Go's linker leaves it out of the segment of notes.
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

// Opened reports whether the file is there to be read.
func (f *File) Opened() bool { return f.file != nil || f.mem != nil || f.image != nil }

// Size is the size of the file in bytes, 0 if it was never opened.
func (f *File) Size() int64 { return f.size }

// Root is the root directory that Path belongs to.
func (f *File) Root() *Root { return f.root }

// Name is the path of the file without the kernel's additions.
func (f *File) Name() string {
	if f.name != "" {
		return f.name
	}
	return strings.TrimSuffix(f.Path, deleted)
}

// ReadAt implements io.ReaderAt; a file that was closed is opened again.
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
