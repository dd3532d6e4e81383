// Package tracedat reads the files of trace-cmd, trace.dat, of versions 6 and
// 7: the description of the recorded machine, the formats of its events, and
// the records of all its ring buffers, merged by time.
//
// Package perfdata calls it for a recording that is no perf.data, and converts
// its records to the form of perf, so that other packages need not distinguish
// the two. This package reads only the structure of the file and the ring
// buffers; it parses no formats and opens no files.
//
//	f, err := tracedat.Parse(bytes)
//	r := f.Reader()
//	defer r.Close()
//	for rec := (tracedat.Record{}); r.Next(&rec); {
//		// rec.Data is the record as the kernel wrote it, until the next Next.
//	}
//
// The manual pages trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) describe the
// file. The kernel's Documentation/trace/ring-buffer-map.rst and
// include/linux/ring_buffer.h describe its pages. Files of big-endian machines
// are refused.
package tracedat
