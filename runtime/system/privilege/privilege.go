// Package privilege keeps the caller's rights to files apart from the program's
// rights in the kernel. The command calls Begin before anything else. The
// packages that read files of the kernel and of traced processes call Raise, or
// its forms for one file. All other code has only the caller's rights.
//
// A program with file capabilities (setcap) gives them to everybody who executes it.
// The capabilities to open perf events and to load programs are no danger to files,
// and stay effective. The capabilities to read any file (CAP_DAC_READ_SEARCH) and to
// access any process (CAP_SYS_PTRACE) are dangerous: the caller chooses the names of
// scripts, recordings and outputs, and could read and write other people's files
// with them. So they are removed from every thread's effective set at the start, and
// raised for single calls, on one thread.
//
// Root has these rights anyway, so nothing changes for it. A program that is
// set-uid or set-gid does not start: files would be opened with the rights of
// its owner.
package privilege

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// A Set is a set of capabilities, one bit each.
type Set uint64

// The capabilities that Raise raises.
const (
	// Processes allows access to processes of other users: their files in
	// /proc, and their root directories. Files below the root directories are
	// opened with the caller's own rights.
	Processes Set = 1 << unix.CAP_SYS_PTRACE
	// Kernel allows reading and writing files of the kernel: tracefs, debugfs.
	// It must not be used for kcore, which has the contents of all recently
	// read files.
	Kernel Set = 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_DAC_OVERRIDE
	// Programs allows reading files that traced processes have mapped, at any
	// path. The caller of Raise must not show the content of files that are not
	// programs.
	Programs Set = 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_SYS_PTRACE
)

// always are the capabilities that stay effective: they allow the use of kernel
// interfaces, and open no file that the caller cannot open.
const always Set = 1<<unix.CAP_PERFMON | 1<<unix.CAP_BPF | 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYSLOG |
	1<<unix.CAP_IPC_LOCK | 1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_NET_ADMIN

// Run are the capabilities that a run needs after its events were opened: to open events on new
// CPUs and threads, to read maps of programs, and to read files of the kernel and of processes.
const Run Set = 1<<unix.CAP_PERFMON | 1<<unix.CAP_BPF | 1<<unix.CAP_SYSLOG | 1<<unix.CAP_IPC_LOCK |
	1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_SYS_PTRACE

// Opening are the additional capabilities that opening events may need: for probes in programs, for
// writing files of the kernel, and for its memory.
const Opening Set = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_DAC_OVERRIDE |
	1<<unix.CAP_SYS_RAWIO

// Keep gives up all capabilities except s, for good, on all threads. Kernels before 5.8 have
// CAP_SYS_ADMIN in place of the capabilities for tracing; there it is kept too.
func Keep(s Set) error {
	if !perfmonSuffices() {
		s |= 1 << unix.CAP_SYS_ADMIN
	}
	now, err := get()
	if err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	return setAll(state{effective: now.effective & s, permitted: now.permitted & s,
		inheritable: now.inheritable & s})
}

// perfmonSuffices reports that the kernel has CAP_PERFMON, and so CAP_BPF, and requires no
// more. If perf_event_paranoid is 3 or more, as it can be on Debian's kernels, CAP_SYS_ADMIN
// is required for events, also on CPUs that come online later.
func perfmonSuffices() bool {
	if unix.Prctl(unix.PR_CAPBSET_READ, unix.CAP_PERFMON, 0, 0, 0) != nil {
		return false
	}
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return false
	}
	level, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && level <= 2
}

// Begin returns an error if the program is set-uid. It removes the capabilities
// for Raise from the effective set of all threads, and the capabilities that
// are never needed from the permitted set. It must be called before anything is
// opened.
func Begin() error {
	if os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() {
		e := diag.Errorf(diag.Usage, "start", program(),
			"it is set-uid or set-gid: every user's scripts would have the owner's rights over files")
		return e.WithHint("chmod ug-s %[1]s; %s", program(), Advice(Tracing, program()))
	}
	if os.Geteuid() == 0 {
		return nil
	}
	now, err := get()
	if err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	want := state{
		effective:   now.permitted & always,
		permitted:   now.permitted & (always | Processes | Kernel | Programs),
		inheritable: now.inheritable,
	}
	if want == now {
		return nil
	}
	err = setAll(want)
	if errors.Is(err, syscall.ENOTSUP) {
		e := diag.Errorf(diag.Run, "start", program(),
			"it has capabilities, and was built with cgo, whose threads cannot be made to give them up")
		return e.WithHint("build it with CGO_ENABLED=0, as make does")
	}
	return err
}

// setAll changes all threads: the Go runtime has already started several, and each has its own
// credentials.
func setAll(want state) error {
	header, data := want.encode()
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)),
		uintptr(unsafe.Pointer(&data[0])), 0)
	runtime.KeepAlive(header)
	runtime.KeepAlive(data)
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}

// Raise calls f on a thread that has the capabilities of s while f runs, as far
// as the program has them. f must only open files, by names that the caller of
// the program did not choose, and must not start goroutines or programs.
//
// The raised capabilities belong to that thread alone. New threads do not
// inherit them: the Go runtime starts none from a locked thread.
func Raise(s Set, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now, err := get()
	if err != nil || now.permitted&^now.effective&s == 0 {
		f()
		return
	}
	raised := now
	raised.effective |= now.permitted & s
	if set(raised) != nil {
		f() // with the caller's own rights, which may be enough
		return
	}
	defer func() {
		err := set(now)
		if left, e := get(); err != nil && e == nil { // Keep was called meanwhile
			now.effective, now.permitted = now.effective&left.permitted, left.permitted
			now.inheritable &= left.inheritable
			err = set(now)
		}
		if err != nil {
			panic("BUG: a thread keeps capabilities: " + err.Error())
		}
	}()
	f()
}

// A state has the capability sets of a thread.
type state struct{ effective, permitted, inheritable Set }

func get() (state, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return state{}, err
	}
	join := func(low, high uint32) Set { return Set(low) | Set(high)<<32 }
	return state{join(data[0].Effective, data[1].Effective), join(data[0].Permitted, data[1].Permitted),
		join(data[0].Inheritable, data[1].Inheritable)}, nil
}

// set changes the calling thread, which must be locked.
func set(s state) error {
	header, data := s.encode()
	return unix.Capset(header, &data[0])
}

func (s state) encode() (*unix.CapUserHeader, *[2]unix.CapUserData) {
	return &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{
		{Effective: uint32(s.effective), Permitted: uint32(s.permitted), Inheritable: uint32(s.inheritable)},
		{Effective: uint32(s.effective >> 32), Permitted: uint32(s.permitted >> 32), Inheritable: uint32(s.inheritable >> 32)},
	}
}

// Tracing is the argument of setcap that allows tracing all processes.
const Tracing = "cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog,cap_dac_read_search,cap_ipc_lock"

// Advice is the command by which root allows a group to trace without being
// root. The program is first restricted to the group, since any user who can
// execute a program with these capabilities can observe all processes. setcap
// is last, since chgrp removes capabilities.
func Advice(capabilities, program string) string {
	return fmt.Sprintf("run as root, or let the group perf trace: sudo sh -c '%s'",
		Restrict(program, capabilities))
}

// Restrict is the shell command that restricts a program to a group and gives it
// the capabilities.
func Restrict(program, capabilities string) string {
	return fmt.Sprintf("groupadd -f perf && chgrp perf %[1]s && chmod 750 %[1]s && setcap %[2]s+ep %[1]s",
		program, capabilities)
}

// OpenToAll reports that every user may execute a program that has capabilities.
func OpenToAll(program string) bool {
	info, err := os.Stat(program)
	if err != nil || info.Mode().Perm()&0o001 == 0 {
		return false
	}
	size, err := unix.Getxattr(program, "security.capability", nil)
	return err == nil && size > 0
}

// program is the path of our executable, for commands in hints.
func program() string {
	path, err := os.Executable()
	if err != nil || errors.Is(err, os.ErrNotExist) {
		return "ppscript"
	}
	return path
}
