// Package sandbox removes the rights that a run no longer needs after everything was opened:
// capabilities, system calls, directories to write to. An attacker who takes over a parser of
// foreign data (symbols of programs, recordings, names) can then not start programs, reach other
// machines or change files. The command calls Enter when events are about to flow, before a
// recording is read.
//
// It has three walls; each is used if the kernel has it:
//
//   - capabilities that no run needs are given up for good, and no_new_privs is set;
//   - seccomp refuses the system calls of refused, with EPERM, and all of other architectures;
//   - Landlock refuses to write anywhere but in the directories of results, and to read what
//     the run does not read.
//
// Landlock forbids access to processes outside of the sandbox. Stacks of programs need that
// access: the files of a process are read below /proc/PID/root, and before Linux 6.15 its
// mappings cannot be read either. So a live run with such stacks does not use Landlock.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"ppscript/runtime/system/privilege"
)

// Needs lists the things that a run still does after Enter.
type Needs struct {
	// Writes are the directories in which the run makes, changes and removes
	// files.
	Writes []string
	// Removes are directories whose subdirectories the run removes with all their content;
	// they are also in Writes.
	Removes []string
	// Network says that the run makes sockets: to send results, to answer
	// requests, to ask for names.
	Network bool
	// Processes says that the run reads other processes: their mappings, and files below their
	// root directories.
	Processes bool
	// Cgroups says that the run opens cgroups by their numbers.
	Cgroups bool
	// Files says that the run reads programs at any path. Otherwise it reads only files of the
	// kernel and settings.
	Files bool
	// Kernel says that the run reads the kernel's memory through kcore.
	Kernel bool
	// Command says that the run may have to kill a command.
	Command bool
	// Opens says that the process opens events of all kinds later, since it runs several scripts,
	// one after the other.
	Opens bool
	// Starts says that the run starts programs, such as git.
	Starts bool
}

// Walls says which walls Enter could set up.
type Walls struct{ Capabilities, Seccomp, Landlock bool }

func (w Walls) String() string {
	var up []string
	for _, x := range []struct {
		is   bool
		name string
	}{{w.Capabilities, "capabilities"}, {w.Seccomp, "seccomp"}, {w.Landlock, "Landlock"}} {
		if x.is {
			up = append(up, x.name)
		}
	}
	if len(up) == 0 {
		return "none"
	}
	return strings.Join(up, ", ")
}

// Enter gives up all rights that n does not list, for the whole process and for good. Walls
// that the kernel does not have are left out.
func Enter(n Needs) (w Walls, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := noNewPrivileges(); err != nil {
		return w, err
	}
	if !n.Processes {
		if w.Landlock, err = n.land(); err != nil {
			return w, err
		}
	}
	keep := privilege.Run
	if n.Command {
		keep |= 1 << unix.CAP_KILL
	}
	if n.Opens {
		keep |= privilege.Opening
	}
	if n.Kernel {
		keep |= 1 << unix.CAP_SYS_RAWIO
	}
	if len(n.Writes) > 0 {
		keep |= 1 << unix.CAP_DAC_OVERRIDE
	}
	if err = privilege.Keep(keep); err != nil && !errors.Is(err, syscall.ENOTSUP) {
		return w, err
	}
	w.Capabilities = err == nil
	if w.Seccomp, err = n.filter(); err != nil {
		return w, err
	}
	return w, nil
}

// noNewPrivileges prevents programs started by this process from getting more rights than it
// has. A program built with cgo cannot change all its threads this way; there the seccomp
// filter sets it for all threads.
func noNewPrivileges() error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if errno == syscall.ENOTSUP {
		return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("set no_new_privs: %w", errno)
	}
	return nil
}

// machine are the directories with facts about the machine, its processes, times and names.
var machine = []string{"/proc", "/sys", "/dev", "/etc", "/run/systemd", "/usr/share", "/usr/local/share",
	"/usr/lib/debug", "/lib/modules", "/usr/lib/modules", "/boot"}

// land sets up Landlock, which refuses all other files. Open files stay usable.
func (n *Needs) land() (up bool, err error) {
	if version, err := landlockVersion(); err != nil || version == 0 {
		return false, err
	}
	reads := machine
	if n.Files {
		reads = []string{"/"}
	}
	rules := []landlock.Rule{
		landlock.RODirs(reads...).IgnoreIfMissing(),
		landlock.RWFiles("/dev/null", "/dev/tty").IgnoreIfMissing(),
	}
	if len(n.Writes) > 0 {
		rules = append(rules, landlock.RWDirs(n.Writes...).IgnoreIfMissing())
	}
	if len(n.Removes) > 0 {
		rules = append(rules, landlock.PathAccess(removeDir, n.Removes...).IgnoreIfMissing())
	}
	if err := landlock.V5.BestEffort().RestrictPaths(rules...); err != nil {
		return false, fmt.Errorf("set up Landlock: %w", err)
	}
	return true, nil
}

// removeDir is LANDLOCK_ACCESS_FS_REMOVE_DIR.
const removeDir = 1 << 4

// landlockVersion is the version of Landlock; 0 if the kernel does not have it,
// or if it is switched off.
func landlockVersion() (int, error) {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
	v, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	switch errno {
	case 0:
		return int(v), nil
	case syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.EPERM: // EPERM: by a container
		return 0, nil
	}
	return 0, fmt.Errorf("ask for Landlock: %w", errno)
}

// refused are system calls that no run makes after it has begun and that would help an attacker:
// to read and change other processes, to change the machine, to leave a container, and calls that
// had many security bugs.
var refused = []string{
	"ptrace", "process_vm_writev", "process_madvise",
	"kcmp", "pidfd_getfd", "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount",
	"open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "unshare", "setns",
	"quotactl", "quotactl_fd", "swapon", "swapoff",
	"acct", "syslog", "personality", "modify_ldt", "init_module", "finit_module",
	"delete_module", "create_module", "kexec_load", "kexec_file_load", "reboot", "settimeofday",
	"clock_settime", "clock_adjtime", "adjtimex", "stime", "sethostname", "setdomainname",
	"iopl", "ioperm", "vhangup", "lookup_dcookie", "nfsservctl", "uselib", "setuid", "setgid",
	"setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid",
	"chown", "lchown", "fchown", "fchownat", "mknod", "mknodat", "setxattr", "lsetxattr",
	"fsetxattr", "keyctl", "add_key", "request_key", "userfaultfd", "io_uring_setup",
	"io_uring_enter", "io_uring_register", "move_pages", "migrate_pages", "mbind",
	"set_mempolicy", "memfd_secret", "vmsplice",
}

// System calls that are refused unless the run needs them: to start programs, to make sockets
// (open and listening ones stay usable), to read memory of processes, to open files by their
// numbers.
var (
	programs = []string{"execve", "execveat"}
	sockets  = []string{"socket", "socketpair", "connect", "bind", "listen"}
	memory   = []string{"process_vm_readv"}
	handles  = []string{"open_by_handle_at", "name_to_handle_at"}
)

// filter sets up the seccomp filter for all threads.
func (n *Needs) filter() (up bool, err error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return false, nil // an architecture that the library does not support
	}
	names := slices.Clip(refused)
	for _, x := range []struct {
		needed bool
		calls  []string
	}{{n.Starts, programs}, {n.Network, sockets}, {n.Processes, memory}, {n.Cgroups, handles}} {
		if !x.needed {
			names = append(names, x.calls...)
		}
	}
	here := names[:0:0]
	for _, name := range names {
		if _, ok := info.SyscallNames[name]; ok {
			here = append(here, name)
		}
	}
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls:      []seccomp.SyscallGroup{{Names: here, Action: seccomp.ActionErrno}},
	}
	code, err := policy.Assemble()
	if err != nil {
		return false, fmt.Errorf("make the filter of system calls: %w", err)
	}
	// A program can also make calls with the numbers of another architecture, which mean
	// other calls.
	const offsetOfArch = 4
	code = append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetOfArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(syscall.EPERM)},
	}, code...)
	raw, err := bpf.Assemble(code)
	if err != nil {
		return false, fmt.Errorf("make the filter of system calls: %w", err)
	}
	insns := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		insns[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(insns)), Filter: &insns[0]}
	const setModeFilter, allThreads = 1, 1 // SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC
	_, _, errno := syscall.Syscall(unix.SYS_SECCOMP, setModeFilter, allThreads,
		uintptr(unsafe.Pointer(&prog)))
	switch {
	case errno == 0:
		return true, nil
	case errors.Is(errno, syscall.ENOSYS), errors.Is(errno, syscall.EINVAL):
		return false, nil // the kernel has no seccomp filters
	}
	return false, os.NewSyscallError("seccomp", errno)
}
