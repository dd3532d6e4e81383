package testkit

import (
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// This file runs ppscript as an ordinary user, with the file capabilities for
// tracing that `ppscript doctor` suggests.

// nobody is a user and a group that own nothing.
const nobody = 65534

// tracing are these capabilities.
var tracing = []uint{
	unix.CAP_DAC_READ_SEARCH, unix.CAP_IPC_LOCK, unix.CAP_SYS_PTRACE, unix.CAP_SYSLOG, unix.CAP_PERFMON,
	unix.CAP_BPF,
}

// FileCapabilities is the need of a file system whose files can have
// capabilities.
var FileCapabilities = Core("file capabilities in "+os.TempDir(), fileCapabilities())

func fileCapabilities() error {
	f, err := os.CreateTemp("", "capabilities-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	return setCapabilities(f.Name())
}

func setCapabilities(path string) error {
	const version2, effective = 0x02000000, 1 // struct vfs_cap_data
	var low, high uint32
	for _, c := range tracing {
		if c < 32 {
			low |= 1 << c
		} else {
			high |= 1 << (c - 32)
		}
	}
	var data []byte
	for _, word := range []uint32{version2 | effective, low, 0, high, 0} {
		data = binary.LittleEndian.AppendUint32(data, word)
	}
	return unix.Setxattr(path, "security.capability", data, 0)
}

// Ordinary copies ppscript with this mode to a directory that every user may
// read, adds the capabilities unless the mode is set-uid, and returns the path.
func Ordinary(t testing.TB, mode os.FileMode) string {
	t.Helper()
	from, err := os.Open(PPScript(t))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(Open(t), "ppscript")
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.Copy(to, from); err == nil {
		err = to.Close()
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err == nil && mode&os.ModeSetuid == 0 {
		err = setCapabilities(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Open makes a directory for a test to which every user may write.
func Open(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "open-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// StartOrdinary starts a program as an ordinary user, in a directory that this
// user owns.
func StartOrdinary(t testing.TB, dir string, args ...string) *Process {
	t.Helper()
	return startWith(t, limit, func(cmd *exec.Cmd) {
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "HOME="+dir)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}, args...)
}
