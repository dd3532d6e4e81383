package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// This file opens a path component by component, so that another user cannot choose where results
// go. In a directory such as /tmp, which all users can write to and which has the sticky bit, a
// name may already be another user's link or file. The kernel's fs.protected_symlinks and
// fs.protected_regular refuse both; they are off on some machines, so the same rule is kept here.
// To check the path before it is opened would be wrong: another user may make the link in between.

// maxLinks bounds the symbolic links in a path, as in the kernel.
const maxLinks = 40

// OpenNow opens path; flag is as for os.OpenFile, and may have O_NOFOLLOW. A pipe without a reader
// is an error. The error is fs.ErrPermission if, in a sticky directory that all users can write to,
// the path leads through another user's link, to another user's existing file, or to a file with
// several names.
func OpenNow(path string, flag int) (*os.File, error) {
	fd, err := walk(path, flag|unix.O_CLOEXEC)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func walk(path string, flag int) (int, error) {
	if path == "" {
		return -1, unix.ENOENT
	}
	dir, rest, err := start(unix.AT_FDCWD, path)
	if err != nil {
		return -1, err
	}
	defer func() { unix.Close(dir) }()
	for links := 0; ; {
		name, after, more := strings.Cut(strings.TrimLeft(rest, "/"), "/")
		after = strings.TrimLeft(after, "/")
		if name == "" {
			name = "."
		}
		if magic(dir) { // links such as /proc/self/fd/1; their targets may have no path
			return unix.Openat(dir, strings.TrimLeft(rest, "/"), flag, uint32(Mode))
		}
		how := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if !more {
			how = flag&^unix.O_TRUNC | unix.O_NOFOLLOW
		}
		fd, err := unix.Openat(dir, name, how, uint32(Mode))
		var target string
		switch {
		case err == nil && how&unix.O_PATH != 0:
			target, err = link(dir, fd)
		// A link in a sticky directory is EACCES with O_CREAT.
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EACCES):
			fd = -1
			if flag&unix.O_NOFOLLOW != 0 {
				return -1, err
			}
			var linkErr error
			if target, linkErr = linkAt(dir, name); linkErr != nil || target != "" {
				err = linkErr
			}
		case err == nil:
			if err = settle(dir, fd, flag); err != nil {
				unix.Close(fd)
				return -1, err
			}
			return fd, nil
		}
		if err != nil {
			if fd >= 0 {
				unix.Close(fd)
			}
			return -1, err
		}
		if target == "" { // a directory on the way
			unix.Close(dir)
			dir, rest = fd, after
			continue
		}
		if fd >= 0 {
			unix.Close(fd)
		}
		if links++; links > maxLinks {
			return -1, unix.ELOOP
		}
		next, rel, err := start(dir, target)
		if err != nil {
			return -1, err
		}
		unix.Close(dir)
		dir = next
		if rest = rel; more {
			rest += "/" + after
		}
	}
}

// start opens the directory from which a path starts: the root or the current
// directory.
func start(dir int, path string) (fd int, rest string, err error) {
	from := "."
	if filepath.IsAbs(path) {
		dir, from = unix.AT_FDCWD, "/"
	}
	fd, err = unix.Openat(dir, from, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, path, err
}

// magic reports whether a directory is on procfs.
func magic(dir int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(dir, &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
}

func linkAt(dir int, name string) (string, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return link(dir, fd)
}

// link returns the target of fd if it is a symbolic link, else "". fd was opened with O_PATH, so
// that it cannot be replaced after the check.
func link(dir, fd int) (string, error) {
	var st, parent unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstat(dir, &parent)); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", nil
	}
	if foreign(st, parent) {
		return "", fmt.Errorf("a link of another user (%d) in a directory that everybody may write to: %w",
			st.Uid, fs.ErrPermission)
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	return string(buf[:max(n, 0)]), err
}

// settle returns an error if a file belongs to another user or may have been put there by one.
// Otherwise it truncates the file if flag has O_TRUNC.
func settle(dir, fd, flag int) error {
	var st, parent unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstat(dir, &parent)); err != nil {
		return err
	}
	if flag&unix.O_CREAT != 0 && foreign(st, parent) {
		return fmt.Errorf("a file of another user (%d) in a directory that everybody may write to: %w",
			st.Uid, fs.ErrPermission)
	}
	// If fs.protected_hardlinks is off, another user can make a hard link to any file of ours
	// there.
	regular := st.Mode&unix.S_IFMT == unix.S_IFREG
	if flag&unix.O_CREAT != 0 && shared(parent) && regular && st.Nlink > 1 {
		return fmt.Errorf("a file that has %d names in a directory that everybody may write to: %w",
			st.Nlink, fs.ErrPermission)
	}
	if flag&unix.O_TRUNC != 0 && regular {
		return unix.Ftruncate(fd, 0)
	}
	return nil
}

// shared reports a sticky directory that all users can write to.
func shared(dir unix.Stat_t) bool {
	const both = unix.S_ISVTX | unix.S_IWOTH
	return dir.Mode&both == both
}

// foreign reports whether st belongs to neither this user nor the owner of its sticky
// directory.
func foreign(st, parent unix.Stat_t) bool {
	return shared(parent) && st.Uid != parent.Uid && st.Uid != uint32(unix.Geteuid())
}
