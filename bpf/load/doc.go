// Package load brings generated programs into the kernel and reads what they
// counted. Package bpf makes an Image of programs, maps, and the layouts of rows;
// session has Open load it, attaches it, reads it at each interval, and closes it.
//
//	Image ──Open──► Run ──Attach──► counts ──Rows──► agg.Partial
//
// A Run is all descriptors: nothing is pinned, so nothing outlives the process,
// however it ends. The package knows where a row keeps its numbers, and no
// instruction that writes them.
package load
