package memory

import (
	"os"
	"runtime/debug"
)

// garbagePercent is Go's GOGC during a live run: the garbage allowed, in percent
// of the memory in use. It is half of Go's default, since per-event code makes no
// garbage, so collections are rare anyway, and the memory belongs to a machine
// that has other work. $GOGC has precedence.
const garbagePercent = 50

// Lean keeps the memory of a live run small, until end is called. It does
// nothing for recordings, where speed matters more.
func Lean(live bool) (end func()) {
	if !live || os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(garbagePercent)
	return func() { debug.SetGCPercent(before) }
}
