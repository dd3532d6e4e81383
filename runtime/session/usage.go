package session

import (
	"fmt"
	"syscall"
	"time"
)

// usage reports the cost of ppscript itself: --usage-self.
type usage struct {
	at        time.Time
	user, sys time.Duration
	maxRSSKB  int64
}

func newUsage() *usage {
	u := &usage{}
	u.read()
	return u
}

func (u *usage) read() {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return
	}
	u.at = time.Now()
	u.user, u.sys = time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano())
	u.maxRSSKB = ru.Maxrss
}

// line is the report since the last one.
func (u *usage) line() string {
	before := *u
	u.read()
	wall := max(u.at.Sub(before.at), 1)
	percent := func(d time.Duration) float64 { return 100 * float64(d) / float64(wall) }
	return fmt.Sprintf("%s CPU %%usr %.2f %%sys %.2f MAXRSS %dk", u.at.Format("2006-01-02 15:04:05.000000"),
		percent(u.user-before.user), percent(u.sys-before.sys), u.maxRSSKB)
}
