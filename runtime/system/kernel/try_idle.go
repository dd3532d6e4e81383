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

// This file tries events of the idle tasks, CPU by CPU. On some machines perf tells of the idle task of one
// CPU nothing, or not all: its switches to other tasks are missing and its interrupts come, or neither comes.
// Programs of the kernel at the same tracepoints see all of them.

// An IdlePart is a kind of event that happens in idle tasks. Each can be missing alone.
type IdlePart uint8

// The kinds of such events.
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

// Numbers of TryIdle: how many stays in the idle task are waited for, how many decide, and for how long
// this thread sleeps on a CPU, again and again, that has had fewer. Samples are taken for idleWindow, of a
// CPU that was idle for two ticks of its account at least. What did not come is tried idleTries times.
const (
	idleStays  = 8
	idleLeast  = 3
	idleTime   = 20 * time.Millisecond
	idleWindow = 50 * time.Millisecond
	idleTick   = 10 * time.Millisecond // USER_HZ, of /proc/stat
	idleTries  = 3
)

// errNeverIdle says that a CPU had no idle time in which something could be tried.
var errNeverIdle = errors.New("the CPU was busy meanwhile")

// TryIdle finds out, of each CPU, whether perf's events of its idle task come: switches and wake-ups. A CPU
// that is busy all the time cannot be tried. dir is where tracefs is.
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

// untriedIdle is the outcome of several parts, if err is why they were not tried.
func untriedIdle(cpus []int, err error, parts ...IdlePart) (list []IdleTrial) {
	for _, cpu := range cpus {
		for _, p := range parts {
			list = append(list, IdleTrial{cpu, p, Trial{Err: err, Where: "CPU " + strconv.Itoa(cpu)}})
		}
	}
	return list
}

// An idleCount is what happened on a CPU while a thread slept there again and again.
type idleCount struct {
	to, from int64 // switches to the idle task, and from it
	sleeps   int64 // of the thread
	stays    int64 // those of them in which the CPU became idle
	woken    int64 // wake-ups of the thread that came
}

// switches settles how many switches from the idle task must come: as many as to it, which happen in the task
// before, and come; less one that is still idle, and some that programs of others may have kept away, see
// unlessDisturbed.
func (n idleCount) switches() Trial { return ofIdle(n.to, n.from) }

// wakes settles how many wake-ups must come. Each sleep ends with one; those by interrupts that found the CPU
// busy come, so that each one that is missing was in the idle task.
func (n idleCount) wakes() Trial { return ofIdle(n.stays, n.stays-max(n.sleeps-n.woken, 0)) }

func ofIdle(made, came int64) Trial {
	t := Trial{Hits: made, Delivered: max(came, 0), Least: made - made/4}
	if made < idleLeast {
		t.Err = errNeverIdle
	}
	return t
}

// countIdle counts on a CPU, where this thread is alone, of which comm is the name, or sleeps elsewhere.
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
	// What is compared is read last and first, so that it is counted for longer.
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
		n.stays = 0 // its wake-ups are elsewhere
	}
	return n, err
}

// TryIdleSamples finds out, of each CPU, whether perf samples it while it is idle: all at once, for a moment.
// r.Proc tells for how long each CPU was idle.
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

// samples settles how many samples must come of a CPU that was idle for so many ticks.
func (t *Trial) samples(ticks int64) {
	// The first tick and the last one may be hardly idle.
	t.Hits = max(ticks-1, 0) * int64(idleTick/tryPeriod)
	t.Least = t.Hits / tryShare
	if t.Err == nil && t.Hits == 0 {
		t.Err = errNeverIdle
	}
}

// idleTicks are the ticks that each CPU was idle, by its number.
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
			continue // the sum of all
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

// SilentIdle names the CPUs of whose idle task perf delivers no events of a part; "" if none is known.
func SilentIdle(list []IdleTrial, part IdlePart) string {
	var silent []string
	for _, t := range list {
		if t.Part == part && t.Silent() {
			silent = append(silent, t.Where)
		}
	}
	return strings.Join(silent, ", ")
}
