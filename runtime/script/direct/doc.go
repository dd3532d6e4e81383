// Package direct runs script functions that stay interpreted, without the
// interpreter: a function becomes a tree of Go closures over Starlark's own
// values.
//
// It is worth its lines as long as functions with arithmetic on unsigned 64-bit
// fields stay interpreted. ns per call, directly and by the interpreter, on one
// machine, the least of eight:
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
// It knows only how functions succeed. Whatever it does not know, and every
// error, is a call that did not come off: the caller makes it again with the
// interpreter, whose outcome counts, with its message and its place. So that a
// call can be made twice, what a function may change lies in its own variables,
// or in a state that the caller can restore; functions that call anything with
// effects are not compiled.
//
// frontend makes Functions. Nothing here knows events; Hooks do.
package direct
