// Package perfdata reads and writes perf.data files.
//
// Reading: Open gives an event.Source over a recording of `perf record`, as
// a file or through a pipe, so that a script runs over a recording as it
// runs live. Event formats come from the recording itself, not from the
// machine that reads it. Writing: Create makes a file that perf's own
// commands read.
//
// The session calls it for --input and for recordings. It decodes containers
// only: headers, features, compression, rounds. Records are decoded by
// runtime/source/perf, for files and live rings alike.
//
// Files are mapped, not copied: events are views of the mapping. Compressed
// and piped input lives in heap buffers that are reused after Release. It
// does not read recordings of big-endian machines.
//
// Truncating a file while it is being read kills the process (SIGBUS), as it
// does for every program that maps files.
//
//	f, err := perfdata.Open("perf.data", perfdata.Options{Ordered: true})
//	for err == nil {
//		err = f.Poll(ctx, time.Second) // io.EOF: all is visible
//		for _, r := range f.Rings() { ... r.Read(batch, visible) ... r.Release() }
//	}
package perfdata
