package sent

import "encoding/binary"

// This file describes the records of unpaired events: events of a join that stay without a partner.
// A record has the reason, the age, and then the same bytes that programs keep while the event
// waits. So an event that still waits at the end of a run is converted to a record by adding a
// head.

// Offsets in such a record, after the head.
const (
	UnpairedReason = 0
	UnpairedAge    = 8
	UnpairedWaits  = 16
)

// Unpaired makes the record of an event that waits; waits are the bytes that
// programs keep.
func Unpaired(reason, age uint64, waits []byte) []byte {
	rec := make([]byte, HeadSize+UnpairedWaits, HeadSize+UnpairedWaits+len(waits))
	binary.LittleEndian.PutUint64(rec[HeadSize+UnpairedReason:], reason)
	binary.LittleEndian.PutUint64(rec[HeadSize+UnpairedAge:], age)
	return append(rec, waits...)
}
