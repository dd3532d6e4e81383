// Package unwind walks the stacks of programs that were compiled without frame
// pointers.
//
// The kernel itself can only follow frame pointers. If requested, it copies the
// registers and a part of the user stack into each sample. The call frame
// information in .eh_frame, which C++ needs for exceptions and which every
// distribution ships for C, then gives the location of each caller's registers
// in that copy. An Unwinder converts the information of each file to a table
// once, and walks a stack with a binary search for each frame, without
// allocating.
//
//	u := unwind.New(unwind.Options{Maps: maps})
//	addrs, how := u.Sample(addrs[:0], &e)
//	if how.Stop != unwind.End { ... } // outer frames are missing, and why
//
// The package has its own tables: the reader in delve, the only maintained one
// in Go, makes maps and closures for each address, takes a thousand times too
// long for a sample, and trusts its input.
//
// Go programs have other tables, which remain when they are stripped; these are
// converted to the same form.
//
// The package does not guess: code without tables is walked by its frame
// pointer if that points to a plausible frame, and the result says so.
package unwind
