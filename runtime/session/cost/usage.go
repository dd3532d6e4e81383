// Package cost measures the cost of observing: the CPU time of ppscript, and the rate
// of events, which the observed programs pay for.
package cost

import (
	"fmt"
	"syscall"
	"time"
)

// A Usage reports the cost of ppscript itself: --usage-self.
type Usage struct {
	at        time.Time
	User, Sys time.Duration
	MaxRSSKB  int64
}

// NewUsage begins the first period.
func NewUsage() *Usage {
	u := &Usage{}
	u.read()
	return u
}

func (u *Usage) read() {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return
	}
	u.at = time.Now()
	u.User, u.Sys = time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())
	u.MaxRSSKB = ru.Maxrss
}

// Line returns the report for the time since the last call.
func (u *Usage) Line() string {
	before := *u
	u.read()
	wall := max(u.at.Sub(before.at), 1)
	percent := func(d time.Duration) float64 { return 100 * float64(d) / float64(wall) }
	return fmt.Sprintf("%s CPU %%usr %.2f %%sys %.2f MAXRSS %dk", u.at.Format("2006-01-02 15:04:05.000000"),
		percent(u.User-before.User), percent(u.Sys-before.Sys), u.MaxRSSKB)
}
