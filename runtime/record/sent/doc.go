// Package sent describes the records that programs of the kernel send, and converts them to
// events. Every record is a row of columns (column.go). It can be an event with only the fields
// that are used, a pair made by a join in the kernel, an event that stays without a partner, or an
// event emitted by a fold, with the events at its start and end. Package bpf generates the code
// that fills the columns; package perf reads the buffers with the records.
//
// Each record begins with a head, which the columns follow:
//
//	u64 time    CLOCK_MONOTONIC, ns
//	u64 task    process in the upper half, thread in the lower
//	s64 stream  index in perf.Config.Events, then in perf.Programs.Records; or LossStream, with the
//	            number of lost records behind it
//
// Readers of an event use the offsets of fields in the kernel's own record of the event. So the
// Event gets a record with the sent fields at these offsets, and zeros elsewhere (projection.go).
package sent

// Offsets in the head, the size of the head, and the size of a record of
// losses.
const (
	HeadTime   = 0
	HeadTask   = 8
	HeadStream = 16
	HeadSize   = 24
	LossSize   = HeadSize + 8
	LossStream = -1
)
