package kernel

import "golang.org/x/sys/unix"

// ENOTSUPP should not leave the kernel, but does. C libraries have no name for
// it.
const ENOTSUPP = unix.Errno(524)

// internal are errors that programs never see: a system call that is
// interrupted by a signal returns them within the kernel, and is then repeated
// or fails with EINTR (include/linux/errno.h).
var internal = map[unix.Errno]string{
	512:      "ERESTARTSYS",
	513:      "ERESTARTNOINTR",
	514:      "ERESTARTNOHAND",
	515:      "ENOIOCTLCMD",
	516:      "ERESTART_RESTARTBLOCK",
	517:      "EPROBE_DEFER",
	518:      "EOPENSTALE",
	519:      "ENOPARAM",
	ENOTSUPP: "ENOTSUPP",
	529:      "EIOCBQUEUED",
}

// ErrnoName is the kernel's name of an error number, which may be negated as in
// results of system calls; "" if it has none.
func ErrnoName(n int64) string {
	if n < 0 {
		n = -n
	}
	if n < 1 || n > 4095 {
		return ""
	}
	no := unix.Errno(n)
	if no == unix.EOPNOTSUPP {
		return "EOPNOTSUPP" // ENOTSUP of C is the same number
	}
	if name, ok := internal[no]; ok {
		return name
	}
	return unix.ErrnoName(no)
}
