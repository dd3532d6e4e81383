// Package direct runs script functions that stay interpreted, without the
// interpreter: a function becomes a tree of Go closures over Starlark's own
// values.
//
// It is worth its code as long as functions with arithmetic on unsigned 64-bit
// fields stay interpreted. Times of a call in ns, directly and by the
// interpreter (the least of eight, on one machine):
//
//	e.pid if e.pid else "idle"                 51     179
//	e.pid > 2 * e.cpu and e.pid + e.cpu > 3    98   1,039
//	a loop of ten turns                      1,126   4,421
//	"{}/{}".format(e.comm, e.pid)              714   2,734
//	[x + 1 for x in (1, 2, 3) if x < e.pid]    427   1,881
//	e.comm.partition("a")[0]                   479     575
//
// where(lambda e: e.bytes_alloc > 2 * e.bytes_req) over a recording of 125,559
// events of kmem:kmalloc takes 62 ms of CPU time, start included, and 133 ms
// without this package.
//
// It implements only calls that succeed. If something is not supported or
// fails, the call is abandoned, and the caller repeats it with the interpreter,
// which reports the error and its position. So that a call can be repeated, a
// function may only change its own variables and states that the caller can
// restore; functions that call anything with effects are not compiled.
//
// Package frontend makes Functions. This package does not depend on events; the
// Hooks handle them.
package direct
