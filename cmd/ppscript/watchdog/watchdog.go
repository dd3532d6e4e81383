// Package watchdog ends a process that was told to end and does not: one for each
// run, which tells it the stage that it is in.
package watchdog

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// This file ends a process that was told to end and does not. A signal or
// --duration asks for an orderly end, which takes the time that it takes: rings
// are read, stacks get names, files are written, events are closed. Each of
// these can hang: a pipe that nobody reads, a file of a file system that does
// not answer, a loop in a script.
//
// The watchdog looks after a while whether anything moves: the run went on to
// another stage, descriptors were opened or closed, or a CPU was used or waited
// for: on a machine with too much to do, a process that works hardly runs. Only
// such work could be an endless loop, so that it is believed for a while and no
// longer. A fixed time is tempting and wrong: a thousand events take the kernel
// half a minute to close, and a hang at the begin need not last so long. Nor is
// one look enough: a process that was stopped, or whose virtual machine had no
// CPU, finds that much time went by in which nothing moved. It counts looks, and
// a pause is one of them, however long it lasted.

// How long the watchdog waits.
const (
	// idleEnd is how long an end may take in which nothing moves, and busyEnd
	// one that uses the CPU.
	idleEnd = 5 * time.Second
	busyEnd = time.Minute
	// A user who sends a signal before events flow loses nothing. A run that only lasts
	// for a time is to begin all the same: programs take long to load on a slow
	// machine.
	idleStart = time.Second
	busyStart = 10 * time.Second
	// looks is how often it looks in an idle time.
	looks = 5
)

// A Watchdog watches over the end of a run.
type Watchdog struct {
	// Hung is called once nothing moves, with the stage and how long it has
	// lasted.
	Hung func(stage string, since time.Duration)

	mu        sync.Mutex
	limit     time.Duration // --duration; 0: only a signal makes the end due
	stage     string
	since     time.Time // when the stage began, or when its end became due
	due       time.Time // when the end is due; zero if nobody waits for it
	begun     bool      // events flow
	signalled bool      // a signal made the end due
	still     int       // looks, one after another, that saw nothing move
	looks     int       // looks since the stage began or the end became due
	last      progress
	timer     *time.Timer
	next      time.Time // when the timer is due: a look of before was overtaken by news
	closed    bool
}

// A progress holds the counters that show that a process does something.
type progress struct {
	descriptors int
	cpu         time.Duration // used, and waited for by threads that could run
}

// At tells the stage that the run is in from now on. A run that lasts for a
// time has that time from the moment when its events flow; before, each stage
// has it.
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

// LimitTo says how long the run may last; 0 is no limit.
func (d *Watchdog) LimitTo(limit time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && limit == 0 && d.due.After(time.Now()) {
		d.due = time.Time{} // the text was another's option
		d.timer.Stop()
	}
	d.limit = limit
}

// Doing is the stage, and whether events flow.
func (d *Watchdog) Doing() (stage string, begun bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stage, d.begun
}

// End says that the end is due now.
func (d *Watchdog) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.since, d.due, d.signalled = now, now, true
	d.still, d.looks = 0, 0
	d.wait(now)
}

// bounds are how long an end may take.
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

// look is called when nothing was heard for a while.
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

// waited is how long this process's threads could run and had no CPU: the second
// number of schedstat. It is 0 in a kernel without CONFIG_SCHED_INFO.
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
