// Package listing lists the code of one function with what its samples weigh: by instruction, or by
// line of the source. It takes counts of stacks of which only the innermost functions matter, and
// makes a table.
//
// Where a sample was taken is where the CPU says that it was interrupted: on most CPUs some instructions
// behind the one that took the time.
package listing
