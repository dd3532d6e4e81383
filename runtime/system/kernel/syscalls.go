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

// SyscallNumber is the number of a system call; ok is false if there is none
// of that name.
func SyscallNumber(arch, name string) (nr int64, ok bool) {
	if name == "" {
		return 0, false
	}
	i := slices.Index(syscallTables[arch], name)
	return int64(i), i >= 0
}

// SyscallNames lists the names, by number; numbers without one are "".
func SyscallNames(arch string) []string { return syscallTables[arch] }
