package sent

import "encoding/binary"

// This file is about events of a join that stay without a partner. Their records have why that is
// known and since when, and then all that waits in programs of such an event, byte by byte: so what
// waits in the end becomes a record when it is read.

// The places in such a record, behind the head.
const (
	UnpairedReason = 0
	UnpairedAge    = 8
	UnpairedWaits  = 16
)

// Unpaired is the record of an event that waits.
func Unpaired(reason, age uint64, waits []byte) []byte {
	rec := make([]byte, HeadSize+UnpairedWaits, HeadSize+UnpairedWaits+len(waits))
	binary.LittleEndian.PutUint64(rec[HeadSize+UnpairedReason:], reason)
	binary.LittleEndian.PutUint64(rec[HeadSize+UnpairedAge:], age)
	return append(rec, waits...)
}
