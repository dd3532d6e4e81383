// Package listing lists the code of one function with the weights of its samples, by instruction or
// by source line. It makes a table from counts of stacks, of which it uses only the innermost
// functions.
//
// The address of a sample is where the CPU was interrupted: on most CPUs some instructions after
// the one that took the time.
package listing
