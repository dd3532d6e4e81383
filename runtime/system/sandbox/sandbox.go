// Package sandbox takes from the process what a run does not need once everything is open:
// capabilities, system calls, places to write to. What then goes wrong in the parsers of files and
// texts of others (programs' symbols, recordings, names) cannot start programs, reach other
// machines or change files. The command calls Enter when events are about to flow, before a
// recording is read.
//
// It has three walls, each as far as the kernel has it:
//
//   - capabilities that no run needs are given up for good, and no_new_privs is set;
//   - seccomp refuses the system calls of refused, with EPERM, and all of other architectures;
//   - Landlock refuses to write anywhere but in the directories of results, and to read what
//     the run does not read.
//
// Landlock forbids to look into processes outside. The stacks of programs need that: the files
// that a process sees are below /proc/PID/root, and before 6.15 its mappings are not told either.
// A live run with such stacks is without it.
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

// Needs is what a run does after it has entered.
type Needs struct {
	// Writes are directories in which it makes, changes and removes files.
	Writes []string
	// Removes are directories of which it removes others, with all that is in them; these are
	// among Writes.
	Removes []string
	// Network says that it makes sockets: to send, to be asked, to ask for names.
	Network bool
	// Processes says that it looks into other processes: what they have mapped, and files as they
	// see them.
	Processes bool
	// Cgroups says that it opens cgroups by their numbers.
	Cgroups bool
	// Files says that it reads programs wherever they are; else it reads what the kernel tells,
	// and settings.
	Files bool
	// Kernel says that it reads the kernel's memory, through kcore.
	Kernel bool
	// Command says that there is a command to end.
	Command bool
	// Opens says that it goes on to open events of all kinds, and what they need: a process that runs
	// several scripts, one after the other.
	Opens bool
	// Starts says that it starts programs, such as git.
	Starts bool
}

// Walls says what Enter could put up.
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

// Enter gives up all that n does not say, for the whole process and for good. What the kernel
// lacks is left out, and told by Walls.
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

// noNewPrivileges has nothing that this process could start get more than it has. A program
// that was built with cgo cannot change all its threads: there the filter of system calls sets
// it, with its own, for all.
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

// machine are the files that tell about the machine, all processes on it, and about times and names.
var machine = []string{"/proc", "/sys", "/dev", "/etc", "/run/systemd", "/usr/share", "/usr/local/share",
	"/usr/lib/debug", "/lib/modules", "/usr/lib/modules", "/boot"}

// land has files outside refused. What is open stays so.
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

// landlockVersion is 0 where the kernel has none, or has it switched off.
func landlockVersion() (int, error) {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
	v, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	switch errno {
	case 0:
		return int(v), nil
	case syscall.ENOSYS, syscall.EOPNOTSUPP, syscall.EPERM: // the last by seccomp of a container
		return 0, nil
	}
	return 0, fmt.Errorf("ask for Landlock: %w", errno)
}

// refused are system calls that no run makes after it has begun, and intruders would
// want: to start programs, to look into and change others, to change the machine, to get out of a
// container, and such as had many mistakes.
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

// Some are refused to runs that do not need them: to start programs, sockets (what is open, and
// listens, goes on), the memory of processes, files by their numbers.
var (
	programs = []string{"execve", "execveat"}
	sockets  = []string{"socket", "socketpair", "connect", "bind", "listen"}
	memory   = []string{"process_vm_readv"}
	handles  = []string{"open_by_handle_at", "name_to_handle_at"}
)

// filter has system calls refused, to all threads.
func (n *Needs) filter() (up bool, err error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return false, nil // an architecture that the library does not know
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
	// Numbers of another architecture, which a program can use as well, mean other calls.
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
		return false, nil // the kernel has no filters
	}
	return false, os.NewSyscallError("seccomp", errno)
}
