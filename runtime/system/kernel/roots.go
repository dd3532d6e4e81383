package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Roots are the directories that facts are read from. The zero value is the
// running machine.
type Roots struct {
	Proc string // "/proc" if empty
	Sys  string // "/sys" if empty
	Dev  string // "/dev" if empty
}

// ProcPath joins a path below proc: r.ProcPath("sys/kernel/osrelease").
func (r Roots) ProcPath(elem ...string) string { return under(r.Proc, "/proc", elem) }

// SysPath joins a path below sysfs.
func (r Roots) SysPath(elem ...string) string { return under(r.Sys, "/sys", elem) }

// HasSysfs reports that sysfs is mounted. In a container or a chroot it may not be; then missing
// files do not mean that the kernel lacks a feature.
func HasSysfs(r Roots) bool {
	_, err := os.Stat(r.SysPath("kernel"))
	return err == nil
}

func under(root, std string, elem []string) string {
	if root == "" {
		root = std
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// readLine returns a file's content without the white space around it, for
// files with one value.
func readLine(path string) (string, error) {
	b, err := readPlain(path)
	if err != nil {
		return "", &os.PathError{Op: "read", Path: path, Err: err}
	}
	return strings.TrimSpace(string(b)), nil
}

// readPlain is os.ReadFile without Go's poller. The poller would watch the file, and each
// watch wakes a thread; some files are read regularly even when nothing happens.
func readPlain(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var all []byte
	for part := make([]byte, 4096); ; {
		n, err := unix.Read(fd, part)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n == 0:
			return all, nil
		default:
			all = append(all, part[:n]...)
		}
	}
}

// A setting is a number from a kernel file. If the file is missing or
// unreadable for this user, Err says why and Value has no meaning.
type setting struct {
	Value int64
	Err   error
}

// readable reports whether the number could be read.
func (s setting) readable() bool { return s.Err == nil }

func readSetting(path string) setting {
	text, err := readLine(path)
	if err != nil {
		return setting{Err: err}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return setting{Value: n, Err: err}
}
