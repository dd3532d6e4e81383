package key

import (
	"syscall"
	"unsafe"
)

// hugeBytes is from which size on a table asks for huge pages: below it the
// processor remembers where its small ones are.
const hugeBytes = 256 << 10

// Huge asks the kernel for huge pages under a large slice that nobody has
// written to, and returns it. A table of a million keys spreads over so many
// small pages that to find the page of a place takes longer than to read the
// place. Where the kernel has none (transparent_hugepage/enabled says never), or
// memory is too fragmented, the pages are small ones.
func Huge[T any](s []T) []T {
	if n := uintptr(cap(s)) * unsafe.Sizeof(*new(T)); n >= hugeBytes {
		// Not the part pages at the ends, which may be somebody else's.
		page := uintptr(syscall.Getpagesize())
		from := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
		skip := -from & (page - 1)
		b := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), skip)), (n-skip)&^(page-1))
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) // a wish
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
