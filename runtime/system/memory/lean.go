package memory

import (
	"os"
	"runtime/debug"
)

// garbagePercent is the garbage that may lie beside the memory in use, in percent
// of it, while a live run goes on: half of Go's usual. Per-event code makes none,
// so the collector hardly has anything to do, and the memory is that of a machine
// which has other work. $GOGC goes before it.
const garbagePercent = 50

// Lean keeps the memory of a live run small, until end is called. Recordings are
// read as fast as can be.
func Lean(live bool) (end func()) {
	if !live || os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(garbagePercent)
	return func() { debug.SetGCPercent(before) }
}
