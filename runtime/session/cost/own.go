package cost

import (
	"runtime"
	"time"
)

// An Own measures ppscript's share of the time of all CPUs, from one call to the next.
type Own struct {
	before Usage
}

// NewOwn begins the first period.
func NewOwn() *Own {
	o := &Own{}
	o.before.read()
	return o
}

// Share returns the share since the last call, or since NewOwn.
func (o *Own) Share() float64 {
	before := o.before
	o.before.read()
	used := o.before.User + o.before.Sys - before.User - before.Sys
	wall := max(o.before.at.Sub(before.at), time.Microsecond)
	return float64(used) / float64(wall) / float64(runtime.NumCPU())
}
