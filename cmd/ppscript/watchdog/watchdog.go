// Package watchdog detects a run that was asked to end and hangs. Each run has
// one Watchdog and reports to it the stage that it is in.
package watchdog

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// This file finds out whether a run that was asked to end hangs. A signal or
// --duration asks for an orderly end, which may take long: rings are read,
// stacks are symbolized, files are written, events are closed. Each of these
// can hang, for example on a pipe that nobody reads, a file system that does
// not answer, or a loop in a script.
//
// The watchdog looks repeatedly for progress: the run entered another stage,
// descriptors were opened or closed, or its threads used a CPU or waited for one
// (on an overloaded machine, a process that works hardly gets a CPU). The use of
// a CPU could also be an endless loop, so it counts as progress only for a
// limited time. A fixed limit for the whole end is tempting and wrong: the
// kernel needs half a minute to close a thousand events, and a hang at the start
// should be noticed much earlier. One look is not enough either: after a process
// was stopped, or its virtual machine had no CPU, much time has passed without
// progress. So the watchdog counts looks without progress, and a pause is only
// one look, however long it lasted.

// Bounds on the time without progress.
const (
	// idleEnd bounds an end without any progress, busyEnd an end that only uses
	// the CPU.
	idleEnd = 5 * time.Second
	busyEnd = time.Minute
	// idleStart and busyStart are used instead if a signal arrives before events flow:
	// then no data can be lost. They are not used for --duration, since programs take
	// long to load on a slow machine and the run should still begin.
	idleStart = time.Second
	busyStart = 10 * time.Second
	// looks is the number of looks within one idle time.
	looks = 5
)

// A Watchdog calls Hung if the end of a run hangs.
type Watchdog struct {
	// Hung is called when no progress is seen any more, with the stage and the
	// time since the stage began or the end was due.
	Hung func(stage string, since time.Duration)

	mu        sync.Mutex
	limit     time.Duration // --duration; 0: the run ends only by a signal
	stage     string
	since     time.Time // when the stage began, or when its end became due
	due       time.Time // when the end is due; zero if nothing asked for it yet
	begun     bool      // events have begun to flow
	signalled bool      // a signal asked for the end
	still     int       // consecutive looks without progress
	looks     int       // looks since the stage began or the end became due
	last      progress
	timer     *time.Timer
	next      time.Time // when the timer is due; an earlier look is obsolete and does nothing
	closed    bool
}

// A progress holds the counters whose change shows that the process works.
type progress struct {
	descriptors int
	cpu         time.Duration // CPU time used, and time that runnable threads waited for a CPU
}

// At sets the stage that the run enters. begins says that events flow from now
// on. With --duration, the end is due that long after events began to flow;
// before, each stage may take that long.
func (d *Watchdog) At(stage string, begins bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.limit > 0 && !d.begun && (d.due.IsZero() || d.due.After(now)) {
		d.due = now.Add(d.limit)
	}
	d.stage, d.since, d.begun = stage, now, d.begun || begins
	d.still, d.looks = 0, 0
	d.wait(now)
}

// LimitTo sets the duration of the run; 0 is no limit.
func (d *Watchdog) LimitTo(limit time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && limit == 0 && d.due.After(time.Now()) {
		d.due = time.Time{} // the word taken for --duration was the value of another option
		d.timer.Stop()
	}
	d.limit = limit
}

// Doing returns the current stage, and whether events have begun to flow.
func (d *Watchdog) Doing() (stage string, begun bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stage, d.begun
}

// End makes the end due now; it is called on a signal.
func (d *Watchdog) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.since, d.due, d.signalled = now, now, true
	d.still, d.looks = 0, 0
	d.wait(now)
}

// bounds returns the limits that apply to the end now.
func (d *Watchdog) bounds() (idle, busy time.Duration) {
	if d.signalled && !d.begun {
		return idleStart, busyStart
	}
	return idleEnd, busyEnd
}

// wait sets the timer. The lock is held.
func (d *Watchdog) wait(now time.Time) {
	if d.due.IsZero() || d.closed {
		return
	}
	idle, _ := d.bounds()
	after := idle / looks
	if left := d.due.Sub(now); left > 0 {
		after += left
	}
	d.last, d.next = progressNow(), now.Add(after)
	if d.timer == nil {
		d.timer = time.AfterFunc(after, d.look)
		return
	}
	d.timer.Reset(after)
}

// look compares the counters with the last look's and calls Hung after too many
// looks without progress.
func (d *Watchdog) look() {
	d.mu.Lock()
	now := time.Now()
	if d.closed || now.Before(d.due) || now.Before(d.next) {
		d.mu.Unlock()
		return
	}
	idle, busy := d.bounds()
	since := now.Sub(d.since)
	if d.due.After(d.since) {
		since = now.Sub(d.due)
	}
	is := progressNow()
	d.looks++
	works := is.cpu-d.last.cpu > idle/looks/10 && time.Duration(d.looks)*idle/looks < busy
	if d.still++; works || is.descriptors != d.last.descriptors {
		d.still = 0
	}
	hung, stage := d.still >= looks, d.stage
	if !hung {
		d.wait(now)
	}
	d.mu.Unlock()
	if hung {
		d.Hung(stage, since)
	}
}

// Close ends the watch.
func (d *Watchdog) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.timer != nil {
		d.timer.Stop()
	}
}

func progressNow() (p progress) {
	if dir, err := os.Open("/proc/self/fd"); err == nil {
		names, _ := dir.Readdirnames(-1)
		dir.Close()
		p.descriptors = len(names)
	}
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		p.cpu = time.Duration(ru.Utime.Nano()+ru.Stime.Nano()) + waited()
	}
	return p
}

// waited returns the time that runnable threads of this process have waited for
// a CPU, from the second number of schedstat. It is 0 in a kernel without
// CONFIG_SCHED_INFO.
func waited() (sum time.Duration) {
	const tasks = "/proc/self/task/"
	dir, err := os.Open(tasks)
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, tid := range names {
		text, _ := os.ReadFile(tasks + tid + "/schedstat") // a thread may have ended
		if words := strings.Fields(string(text)); len(words) > 1 {
			ns, _ := strconv.ParseInt(words[1], 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}
