// Package sent describes the records that programs of the kernel send, and shows them as events.
// A record is a row of columns (column.go), whatever it is of: an event with no more in it than
// somebody reads, a pair that a join made there, an event of a join that stays without a partner,
// an event that a fold emits, with the two events that it lies between. Package bpf generates what
// fills the columns, package perf reads the buffers that records come in. It opens nothing.
//
// Each record begins with a head, behind which its columns are:
//
//	u64 time    CLOCK_MONOTONIC, ns
//	u64 task    process in the upper half, thread in the lower
//	s64 stream  index in perf.Config.Events, then in perf.Programs.Records; or LossStream, with the
//	            number of lost records behind it
//
// Readers of events know the places of fields in the event's own record. So an Event shows a record
// with the sent fields at their places, and zeros elsewhere (projection.go).
package sent

// The places in the head, and the sizes of it and of a record of losses.
const (
	HeadTime   = 0
	HeadTask   = 8
	HeadStream = 16
	HeadSize   = 24
	LossSize   = HeadSize + 8
	LossStream = -1
)
