package kernel

import "golang.org/x/sys/unix"

// ErrnoName names an error number, also a negative one as system calls return
// it; "" if it has no name.
func ErrnoName(n int64) string {
	if n < 0 {
		n = -n
	}
	if n < 1 || n > 4095 {
		return ""
	}
	return unix.ErrnoName(unix.Errno(n))
}
