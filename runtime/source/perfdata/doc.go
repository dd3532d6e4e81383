// Package perfdata reads and writes perf.data files.
//
// Reading: Open returns an event.Source for a recording of `perf record`, from
// a file or a pipe, so that scripts handle a recording like live events.
// Formats of events are read from the recording, not from the machine that
// reads it. A trace.dat of trace-cmd is read, too. Writing: Create makes a file
// that perf's own commands read.
//
// The session calls it for --input and for writing recordings. It decodes only
// the structure of the file: the header; features, which are sections that
// describe the machine; compression; and rounds, which are marks in the stream
// of records from which their order follows (ordered.go). Package
// runtime/source/perf decodes the records, for files and for live rings.
//
// Files are mapped, not copied: events are views of the mapping. Compressed and
// piped input is in heap buffers that are reused after Release. Recordings of
// big-endian machines are refused.
//
// Truncating a file while it is being read kills the process (SIGBUS), like any
// program that maps files.
//
//	f, err := perfdata.Open("perf.data", perfdata.Options{Ordered: true})
//	for err == nil {
//		err = f.Poll(ctx, time.Second) // io.EOF: all is visible
//		for _, r := range f.Rings() { ... r.Read(batch, visible) ... r.Release() }
//	}
package perfdata
