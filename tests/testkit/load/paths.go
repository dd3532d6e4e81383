package main

import "golang.org/x/sys/unix"

// paths calls getppid once along each of 2^bits chains of functions.
func paths(bits int) {
	if bits == 0 {
		return
	}
	for path := range 1 << bits {
		along(bits, path)
	}
}

// along calls left or right for each bit of path, the lowest first.
//
//go:noinline
func along(bits, path int) int {
	switch {
	case bits == 0:
		unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
		return 0
	case path&1 == 0:
		return left(bits-1, path>>1)
	}
	return right(bits-1, path>>1)
}

// left and right do not check the size of their stack. A Go function that does begins again after
// its stack has grown, or after its goroutine gave up the CPU, and a breakpoint at its begin is
// then hit twice.
//
//go:noinline
//go:nosplit
func left(bits, path int) int { return along(bits, path) + 1 }

//go:noinline
//go:nosplit
func right(bits, path int) int { return along(bits, path) + 2 }
