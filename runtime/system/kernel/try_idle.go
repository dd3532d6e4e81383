package kernel

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// This file tries events of the idle tasks, CPU by CPU. On some machines perf does not deliver all
// events of the idle task of some CPU: either its switches to other tasks are missing, or its
// switches and interrupts. Programs of the kernel at the same tracepoints get all of them.

// An IdlePart is a kind of event that happens in idle tasks. Each can be missing alone.
type IdlePart uint8

// Kinds of events in idle tasks.
const (
	IdleSwitches   IdlePart = iota // from the idle task to another one
	IdleInterrupts                 // interrupts, and the wake-ups, timers and softirqs in them
	IdleSamples                    // samples of the CPU's clock
)

func (p IdlePart) String() string {
	return [...]string{"switches from it", "wake-ups in it", "samples of it"}[p]
}

// An IdleTrial is the outcome of a try on one CPU.
type IdleTrial struct {
	CPU  int
	Part IdlePart
	Trial
}

// Parameters of TryIdle. This thread sleeps on a CPU repeatedly until the CPU was idle idleStays
// times, or until idleTime has passed; idleLeast times suffice for a result. TryIdleSamples samples
// for idleWindow; a CPU must be idle for at least two ticks. If hits are missing, the try is
// repeated, up to idleTries tries.
const (
	idleStays  = 8
	idleLeast  = 3
	idleTime   = 20 * time.Millisecond
	idleWindow = 50 * time.Millisecond
	idleTick   = 10 * time.Millisecond // a tick of USER_HZ, the unit of /proc/stat
	idleTries  = 3
)

// errNeverIdle says that a CPU was not idle long enough for a try.
var errNeverIdle = errors.New("the CPU was busy meanwhile")

// TryIdle finds out for each CPU whether perf delivers the events of its idle task: switches and
// wake-ups. A CPU that is always busy cannot be tried. dir is the mount point of tracefs.
func TryIdle(dir string, cpus []int) []IdleTrial {
	var ids [2]uint64
	for i, event := range []string{"sched/sched_switch", "sched/sched_waking"} {
		var err error
		if ids[i], err = tracepointID(dir, event); err != nil {
			return untriedIdle(cpus, err, IdleSwitches, IdleInterrupts)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		err = fmt.Errorf("ask for the CPUs of this thread: %w", err)
		return untriedIdle(cpus, err, IdleSwitches, IdleInterrupts)
	}
	defer unix.SchedSetaffinity(0, &mine)
	comm := "pps-try-" + strconv.Itoa(unix.Gettid())
	restore, err := rename(comm)
	if err != nil {
		return untriedIdle(cpus, err, IdleSwitches, IdleInterrupts)
	}
	defer restore()
	list := untriedIdle(cpus, nil, IdleSwitches, IdleInterrupts)
	for i, cpu := range cpus {
		var one unix.CPUSet
		one.Set(cpu)
		alone := mine.IsSet(cpu) && unix.SchedSetaffinity(0, &one) == nil
		for try := 1; ; try++ {
			seen, err := countIdle(ids, cpu, comm, alone)
			switches, wakes := &list[2*i].Trial, &list[2*i+1].Trial
			where := switches.Where
			*switches, *wakes = seen.switches(), seen.wakes()
			switches.Where, wakes.Where = where, where
			if err != nil {
				switches.Err, wakes.Err = err, err
			}
			if !switches.Silent() && !wakes.Silent() || try == idleTries {
				break
			}
		}
	}
	return list
}

// untriedIdle lists the outcomes of several parts on each CPU before they are
// tried; err is the reason if they cannot be tried.
func untriedIdle(cpus []int, err error, parts ...IdlePart) (list []IdleTrial) {
	for _, cpu := range cpus {
		for _, p := range parts {
			list = append(list, IdleTrial{cpu, p, Trial{Err: err, Where: "CPU " + strconv.Itoa(cpu)}})
		}
	}
	return list
}

// An idleCount has the counts on a CPU while a thread slept there repeatedly.
type idleCount struct {
	to, from int64 // switches to the idle task, and from it
	sleeps   int64 // sleeps of the thread
	stays    int64 // sleeps in which the CPU became idle
	woken    int64 // delivered wake-ups of the thread
}

// switches returns the outcome for switches from the idle task. There must be as many as switches
// to it, which happen in the previous task and are always delivered. Some may be missing: the CPU
// can still be idle, and programs of other tools can suppress events, see unlessDisturbed.
func (n idleCount) switches() Trial { return ofIdle(n.to, n.from) }

// wakes returns the outcome for wake-ups. Each sleep ends with one. Wake-ups by interrupts on a
// busy CPU are always delivered, so a missing one happened in the idle task.
func (n idleCount) wakes() Trial { return ofIdle(n.stays, n.stays-max(n.sleeps-n.woken, 0)) }

func ofIdle(made, came int64) Trial {
	t := Trial{Hits: made, Delivered: max(came, 0), Least: made - made/4}
	if made < idleLeast {
		t.Err = errNeverIdle
	}
	return t
}

// countIdle counts on a CPU while this thread sleeps repeatedly. comm is the thread's name; alone
// says that it sleeps on that CPU, else it runs on any CPU.
func countIdle(ids [2]uint64, cpu int, comm string, alone bool) (n idleCount, err error) {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for _, e := range []struct {
		id     uint64
		filter string
	}{{ids[0], "next_pid == 0"}, {ids[0], "prev_pid == 0"}, {ids[1], `comm == "` + comm + `"`}} {
		fd, err := countOn(e.id, cpu, e.filter)
		if err != nil {
			return n, err
		}
		fds = append(fds, fd)
	}
	// The counts are read in an order that gives the expected hits a longer time
	// than the hits to compare them with.
	read := func(order ...int) (counts [3]int64) {
		for _, i := range order {
			var one error
			counts[i], one = readCount(fds[i])
			err = errors.Join(err, one)
		}
		return counts
	}
	before := read(1, 2, 0)
	var own unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &own)
	slept := own.Nvcsw
	for begun := time.Now(); err == nil; {
		old := n.to
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 200_000}, nil)
		n.to = read(0)[0] - before[0]
		if n.to > old {
			n.stays++
		}
		if n.to >= idleStays || !alone || time.Since(begun) > idleTime {
			break
		}
	}
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &own)
	after := read(1, 2)
	n.from, n.woken, n.sleeps = after[1]-before[1], after[2]-before[2], own.Nvcsw-slept
	if !alone {
		n.stays = 0 // the thread's wake-ups are on other CPUs
	}
	return n, err
}

// TryIdleSamples finds out for each CPU whether perf samples it while it is idle. All CPUs are
// tried at once, for idleWindow. r is for /proc/stat, which has the idle time of each CPU.
func TryIdleSamples(r Roots, cpus []int) []IdleTrial {
	list := untriedIdle(cpus, nil, IdleSamples)
	for try := 1; ; try++ {
		again := false
		for i, t := range sampleIdle(r, cpus) {
			if try == 1 || list[i].Silent() {
				t.Where = list[i].Where
				list[i].Trial = t
			}
			again = again || list[i].Silent()
		}
		if !again || try == idleTries {
			return list
		}
	}
}

func sampleIdle(r Roots, cpus []int) []Trial {
	list := make([]Trial, len(cpus))
	rings := make([]*tryRing, len(cpus))
	for i, cpu := range cpus {
		if rings[i], list[i].Err = openRing(unix.PerfEventAttr{
			Type:        unix.PERF_TYPE_SOFTWARE,
			Config:      unix.PERF_COUNT_SW_CPU_CLOCK,
			Sample:      uint64(tryPeriod),
			Sample_type: unix.PERF_SAMPLE_TID,
		}, spot{-1, cpu, 0}); list[i].Err == nil {
			defer rings[i].close()
		}
	}
	before, err := idleTicks(r)
	time.Sleep(idleWindow)
	after, errAfter := idleTicks(r)
	if err = errors.Join(err, errAfter); err != nil {
		err = fmt.Errorf("for how long CPUs were idle: %w", err)
	}
	for i, cpu := range cpus {
		t := &list[i]
		if t.Err = errors.Join(t.Err, err); t.Err != nil {
			continue
		}
		t.Elapsed = idleWindow
		t.Err = rings[i].samples(func(body []byte) {
			if len(body) >= 8 && binary.NativeEndian.Uint32(body[4:]) == 0 {
				t.Delivered++
			}
		})
		t.samples(after[cpu] - before[cpu])
	}
	return list
}

// samples sets the number of samples that must be delivered for a CPU that was idle
// for a number of ticks.
func (t *Trial) samples(ticks int64) {
	// The CPU may be idle in only a small part of the first and the last tick.
	t.Hits = max(ticks-1, 0) * int64(idleTick/tryPeriod)
	t.Least = t.Hits / tryShare
	if t.Err == nil && t.Hits == 0 {
		t.Err = errNeverIdle
	}
}

// idleTicks reads the number of ticks that each CPU was idle.
func idleTicks(r Roots) (map[int]int64, error) {
	f, err := os.Open(r.ProcPath("stat"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	ticks := map[int]int64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// cpuN USER NICE SYSTEM IDLE IOWAIT ...
		words := strings.Fields(lines.Text())
		if len(words) < 6 || !strings.HasPrefix(words[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(words[0][3:])
		if err != nil {
			continue // the line with the sum of all CPUs
		}
		idle, err := strconv.ParseInt(words[4], 10, 64)
		waits, errWaits := strconv.ParseInt(words[5], 10, 64)
		if err = errors.Join(err, errWaits); err != nil {
			return nil, err
		}
		ticks[cpu] = idle + waits
	}
	return ticks, nil
}

// SilentIdle lists the CPUs for whose idle task perf does not deliver the events of a part; "" if
// there are none.
func SilentIdle(list []IdleTrial, part IdlePart) string {
	var silent []string
	for _, t := range list {
		if t.Part == part && t.Silent() {
			silent = append(silent, t.Where)
		}
	}
	return strings.Join(silent, ", ")
}
