package key

import (
	"syscall"
	"unsafe"
)

// hugeBytes is the size from which a table asks for huge pages. The small pages
// of a smaller table fit the processor's TLB.
const hugeBytes = 256 << 10

// Huge asks the kernel for huge pages under a large slice that nobody has
// written to, and returns it. A table of a million keys has so many small pages
// that address translation takes longer than the read itself. Where the kernel
// has none (transparent_hugepage/enabled says never), or memory is too
// fragmented, the pages are small ones.
func Huge[T any](s []T) []T {
	if n := uintptr(cap(s)) * unsafe.Sizeof(*new(T)); n >= hugeBytes {
		// Pages at the ends are left out: other memory may share them.
		page := uintptr(syscall.Getpagesize())
		from := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
		skip := -from & (page - 1)
		b := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), skip)), (n-skip)&^(page-1))
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) // only advice: errors do not matter
	}
	return s
}

// Grow returns s with room for one more, at least: append, but with huge pages
// under slices that become large.
func Grow[T any](s []T) []T {
	if len(s) < cap(s) {
		return s
	}
	return append(Huge(make([]T, 0, max(64, 2*len(s)))), s...)
}
