package cost

import (
	"runtime"
	"time"
)

// An Own tells which share of the time of all CPUs ppscript used, from one question to the next.
type Own struct {
	before Usage
}

// NewOwn begins now.
func NewOwn() *Own {
	o := &Own{}
	o.before.read()
	return o
}

// Share is that since the last call, or the begin.
func (o *Own) Share() float64 {
	before := o.before
	o.before.read()
	used := o.before.User + o.before.Sys - before.User - before.Sys
	wall := max(o.before.at.Sub(before.at), time.Microsecond)
	return float64(used) / float64(wall) / float64(runtime.NumCPU())
}
