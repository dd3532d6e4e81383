// Package tracedat reads the files of trace-cmd, trace.dat, of versions 6 and
// 7: what the file says of itself, the formats of its events, and the records
// of all its ring buffers, merged by time.
//
// Package perfdata calls it for a recording that is no perf.data, and hands its
// records on in the form of perf's: everything above reads both alike. The
// package knows containers and ring buffers only; it parses no formats, and
// opens no files.
//
//	f, err := tracedat.Parse(bytes)
//	r := f.Reader()
//	defer r.Close()
//	for rec := (tracedat.Record{}); r.Next(&rec); {
//		// rec.Data is the record as the kernel wrote it, until the next Next.
//	}
//
// The forms of the file are described in trace-cmd.dat.v6(5) and
// trace-cmd.dat.v7(5), that of its pages in the kernel's
// Documentation/trace/ring-buffer-map.rst and include/linux/ring_buffer.h.
// Files of big-endian machines are refused.
package tracedat
