// Package cost tells what observing costs: the observer itself, and its targets, which
// pay for each event.
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

// NewUsage reads what was used so far.
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

// Line is the report since the last one.
func (u *Usage) Line() string {
	before := *u
	u.read()
	wall := max(u.at.Sub(before.at), 1)
	percent := func(d time.Duration) float64 { return 100 * float64(d) / float64(wall) }
	return fmt.Sprintf("%s CPU %%usr %.2f %%sys %.2f MAXRSS %dk", u.at.Format("2006-01-02 15:04:05.000000"),
		percent(u.User-before.User), percent(u.Sys-before.Sys), u.MaxRSSKB)
}
