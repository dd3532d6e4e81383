package event

import (
	"context"
	"time"
)

// A Source delivers events from anywhere: perf rings, a perf.data file, BPF
// maps, the network. All of them pass the suite in package eventtest.
//
// A Source is used by one goroutine.
type Source interface {
	// Streams lists the opened streams. The slice does not change.
	Streams() []*Stream

	// Rings lists the rings. It may grow at Poll, never shrink.
	Rings() []Ring

	// Poll waits until there is something to read, at most for timeout, and
	// then moves the bounds of every ring. io.EOF means that all remaining
	// events are visible now; the rings still have to be read.
	Poll(ctx context.Context, timeout time.Duration) error

	// Close releases everything, also in the kernel.
	Close() error
}

// A Ring is a sequence of records in non-decreasing time order (package order
// counts exceptions as late).
//
// Positions are bytes or records, depending on the kind of ring; they only
// grow.
type Ring interface {
	// Bounds returns the positions that the last Poll set. Everything
	// before visible can be read. Everything before known is older than
	// anything that any ring of the source may still show after visible:
	// merging all rings up to known is final.
	//
	// Known exists because rings are filled independently: a record may be
	// in one ring while an older one is still being written to another. A
	// live source looks at all rings twice; the records that the first
	// look saw are known once the second has been taken.
	Bounds() (known, visible uint64)

	// Read decodes records up to position until into dst and returns how
	// many; fewer than len(dst) means that until is reached. The events are
	// views, valid until Release.
	Read(dst []Event, until uint64) int

	// Pos is the position after the last record read.
	Pos() uint64

	// Release gives the memory of all records read so far back to the
	// producer.
	Release()
}
