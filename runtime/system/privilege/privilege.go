// Package privilege keeps the caller's rights to files apart from the
// program's rights in the kernel. The command calls Begin first of all; the
// packages that read the kernel's own files and those of traced processes call
// Raise, or its forms for one file; nobody else gets more than the caller has.
//
// A program with file capabilities (setcap) gives them to everybody who executes it.
// Those that open perf events and load programs do no harm to files, and stay
// effective. Those that read any file (CAP_DAC_READ_SEARCH) or look into any
// process (CAP_SYS_PTRACE) would make scripts, recordings and outputs, whose
// names the caller chooses, the means to read and write other people's files:
// they are taken out of every thread's effective set at the start and come
// back for single calls, on one thread.
//
// Root is root: it has these rights without us, and nothing changes. A program
// that is set-uid or set-gid does not start at all: files would be opened with
// the rights of its owner.
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
	// Processes looks into processes of other users: their files in /proc,
	// and their root directories. Files below these are opened with the
	// caller's own rights.
	Processes Set = 1 << unix.CAP_SYS_PTRACE
	// Kernel reads and writes the kernel's own files: tracefs, debugfs. Not
	// kcore, where the contents of all files are that were read lately.
	Kernel Set = 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_DAC_OVERRIDE
	// Programs reads files that traced processes have mapped, wherever they
	// are. The caller of Raise shows nothing of a file that is no program.
	Programs Set = 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_SYS_PTRACE
)

// always are the capabilities that stay effective: they are about the kernel's
// interfaces, and open no file that the caller cannot open.
const always Set = 1<<unix.CAP_PERFMON | 1<<unix.CAP_BPF | 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYSLOG |
	1<<unix.CAP_IPC_LOCK | 1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_NET_ADMIN

// Run are the capabilities that a run needs once its events are open: to open those of CPUs and
// threads that come later, to read programs' maps, and to read files of the kernel and of
// processes.
const Run Set = 1<<unix.CAP_PERFMON | 1<<unix.CAP_BPF | 1<<unix.CAP_SYSLOG | 1<<unix.CAP_IPC_LOCK |
	1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_SYS_PTRACE

// Opening are the capabilities that opening events of all kinds may need besides: probes in programs, files
// of the kernel that are written, its memory.
const Opening Set = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_DAC_OVERRIDE |
	1<<unix.CAP_SYS_RAWIO

// Keep gives up all capabilities but the ones in s, for good, on all threads. Kernels before 5.8 have
// CAP_SYS_ADMIN in place of those for tracing: there it stays.
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

// perfmonSuffices reports that the kernel knows CAP_PERFMON, and so CAP_BPF, and asks for no
// more: where perf_event_paranoid may be 3 or more, as with Debian's kernels, it then wants
// CAP_SYS_ADMIN for events of CPUs that come online, too.
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

// Begin refuses to run set-uid and takes the capabilities that Raise raises out
// of the effective set of all threads, and those that nothing here needs out of
// the permitted set. It comes before anything is opened.
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

// setAll changes all threads: the runtime has started several by now, and each has credentials of
// its own.
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

// Raise calls f with the capabilities of s, as far as the program has them, on
// a thread that has them as long as f runs. f only opens files, by names that
// the caller of the program did not choose, and starts nothing.
//
// The state is the thread's own, in the kernel. Threads that the runtime starts
// meanwhile do not inherit it: from a locked thread it starts none.
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
		f() // with the caller's own rights, which may suffice
		return
	}
	defer func() {
		err := set(now)
		if left, e := get(); err != nil && e == nil { // Keep came meanwhile
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

// A state is the capabilities of a thread.
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

// set changes the calling thread, which is locked.
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

// Tracing is the text for setcap that allows tracing of all processes.
const Tracing = "cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog,cap_dac_read_search,cap_ipc_lock"

// Advice is the command by which root lets a group trace without being root.
// The group comes first: everybody who can execute a program with these
// capabilities can watch all processes. setcap comes last, since chgrp takes
// capabilities away.
func Advice(capabilities, program string) string {
	return fmt.Sprintf("run as root, or let the group perf trace: sudo sh -c '%s'",
		Restrict(program, capabilities))
}

// Restrict is the shell command that gives the capabilities to a program and the
// program to a group.
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

// program is our file, for commands in hints.
func program() string {
	path, err := os.Executable()
	if err != nil || errors.Is(err, os.ErrNotExist) {
		return "ppscript"
	}
	return path
}
