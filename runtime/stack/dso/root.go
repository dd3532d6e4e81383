package dso

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/privilege"
)

// A Root is the open root directory of a process. Paths of its mappings are
// looked up below it, also after the process has ended. The nil Root is our
// own.
//
// The files below it are under the control of the container's owner. Links are
// followed inside the root only, and only regular files are opened, so that
// links to our files, devices and pipes do no harm.
type Root struct {
	dir *os.File
	key rootKey
}

// rootKey identifies a root, with its mounts: the same directory has different
// files in another mount namespace.
type rootKey struct{ mounts, dev, ino uint64 }

// Own reports whether r is our own root.
func (r *Root) Own() bool { return r == nil }

// Open opens a regular file by its path below r.
func (r *Root) Open(path string) (*os.File, error) { return r.open(path, 0) }

// OpenPlain is like Open, but does not follow a link to the file, for directories
// that all users can write to.
func (r *Root) OpenPlain(path string) (*os.File, error) { return r.open(path, unix.O_NOFOLLOW) }

// open checks the type of the file before it opens it: opening a pipe or a device
// may block or have effects.
func (r *Root) open(path string, more uint64) (*os.File, error) {
	look := unix.O_PATH | unix.O_CLOEXEC | more
	var fd int
	var err error
	if r == nil {
		fd, err = unix.Open(path, int(look), 0)
	} else {
		fd, err = r.below(path, look)
	}
	if err == nil {
		fd, err = reopen(fd)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// ErrIrregular is the reason if a file is not opened since it is not a regular
// file.
var ErrIrregular = errors.New("not a regular file")

// reopen opens the file of a descriptor that was opened with O_PATH, and closes
// the descriptor.
func reopen(path int) (int, error) {
	defer unix.Close(path)
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, ErrIrregular
	}
	// Without O_NONBLOCK, a lease on the file could make the call wait.
	return unix.Open("/proc/self/fd/"+strconv.Itoa(path),
		unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

func (r *Root) below(path string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(r.dir.Fd()), path, &how)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fd, err
	}
	// Before Linux 5.6, a link in the last part is refused, and links in other
	// parts are followed in the kernel's way; paths of mappings contain no
	// links.
	return unix.Openat(int(r.dir.Fd()), strings.TrimLeft(filepath.Clean("/"+path), "/"),
		int(flags)|unix.O_NOFOLLOW, 0)
}

// rootOf opens the root of the process whose directory in /proc is proc; nil
// without an error if it is our own root.
func (s *Store) rootOf(proc string) (*Root, error) {
	key, err := keyOf(proc)
	if err != nil {
		return nil, err
	}
	if s.own == (rootKey{}) {
		if s.own, err = keyOf(filepath.Join(s.opt.Proc, "self")); err != nil {
			return nil, err
		}
	}
	if key == s.own {
		return nil, nil
	}
	for i, r := range s.roots {
		if r.key == key {
			copy(s.roots[1:i+1], s.roots[:i])
			s.roots[0] = r
			return r, nil
		}
	}
	var fd int
	privilege.Raise(privilege.Processes, func() {
		fd, err = unix.Open(filepath.Join(proc, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	r := &Root{dir: os.NewFile(uintptr(fd), proc), key: key}
	if len(s.roots) >= maxRoots {
		last := s.roots[len(s.roots)-1]
		last.dir.Close()
		s.roots = s.roots[:len(s.roots)-1]
	}
	s.roots = append([]*Root{r}, s.roots...)
	return r, nil
}

// maxRoots bounds the open roots; there is about one for each container.
const maxRoots = 128

func keyOf(proc string) (key rootKey, err error) {
	var root, ns unix.Stat_t
	privilege.Raise(privilege.Processes, func() {
		if err = unix.Stat(filepath.Join(proc, "root")+"/", &root); err == nil {
			err = unix.Stat(filepath.Join(proc, "ns/mnt"), &ns)
		}
	})
	return rootKey{ns.Ino, uint64(root.Dev), root.Ino}, err
}
