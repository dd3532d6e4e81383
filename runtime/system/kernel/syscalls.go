package kernel

import "slices"

//go:generate go run ./gensyscalls

// SyscallName is the name of a system call of an architecture (a GOARCH); ""
// if it has none.
func SyscallName(arch string, nr int64) string {
	t := syscallTables[arch]
	if nr < 0 || nr >= int64(len(t)) {
		return ""
	}
	return t[nr]
}

// SyscallNumber is the number of the system call with a name; ok is false if
// there is none.
func SyscallNumber(arch, name string) (nr int64, ok bool) {
	if name == "" {
		return 0, false
	}
	i := slices.Index(syscallTables[arch], name)
	return int64(i), i >= 0
}

// eventCalls maps names in events to system calls, where an event has the name of the kernel
// function instead.
var eventCalls = map[string]string{
	"newstat":           "stat",
	"newfstat":          "fstat",
	"newlstat":          "lstat",
	"newuname":          "uname",
	"sendfile64":        "sendfile",
	"umount":            "umount2",
	"fadvise64_64":      "fadvise64",
	"arm64_personality": "personality",
}

// SyscallOfEvent returns the system call of the events syscalls:sys_enter_NAME and
// syscalls:sys_exit_NAME.
func SyscallOfEvent(name string) string {
	if call, ok := eventCalls[name]; ok {
		return call
	}
	return name
}

// SyscallNames lists the names, by number; numbers without one are "".
func SyscallNames(arch string) []string { return syscallTables[arch] }
