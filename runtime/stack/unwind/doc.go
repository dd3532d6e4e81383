// Package unwind walks the stacks of programs that were compiled without frame
// pointers.
//
// The kernel can follow frame pointers only. Asked to, it copies the registers
// and a part of the user stack into a sample instead; the call frame
// information of .eh_frame, which C++ needs for exceptions and which every
// distribution ships for C, then tells where each caller's registers lie in
// that copy. An Unwinder turns the information of each file into a table once,
// and walks a stack with a binary search for each frame; after that it
// allocates nothing.
//
//	u := unwind.New(unwind.Options{Maps: maps})
//	addrs, how := u.Sample(addrs[:0], &e)
//	if how.Stop != unwind.End { ... } // outer frames are missing, and why
//
// The table is our own: the reader in delve, the only kept one in Go, makes
// maps and closures for each address, a thousand times the time that a sample
// may take, and trusts its input.
//
// Go programs have their own tables, which remain when they are stripped: they
// are turned into the same form.
//
// It does not guess: code without tables is walked by its frame pointer if
// that leads anywhere, and the result says so.
package unwind
