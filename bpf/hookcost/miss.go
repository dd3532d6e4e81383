package hookcost

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// This file counts events of tracepoints that the kernel gives to no observer. Package session uses
// it for events that come through rings.
//
// If any program is attached to a tracepoint, by ppscript or not, perf's events of all observers
// get a hit only after the programs have run. The kernel runs no program while the CPU is in
// another program, or in a system call about a map (bpf_prog_active, in trace_call_bpf of
// kernel/trace/bpf_trace.c). If the thread of such a call is preempted, all hits on that CPU are
// skipped until it continues: thousands, which no ring reports. Since Linux 6.7 each program has a
// count of them (recursion_misses).
//
// So the count of the programs attached to an event is the number of its hits that no observer got,
// from any thread; it is not known which of them a filter would have kept. Programs at raw
// tracepoints are called in another way, and hide nothing.

// most bounds the watched events, and the programs at each.
const most = 64

// every is the time between two looks at the programs.
const every = 500 * time.Millisecond

// A Misses counts the skipped hits of some events.
type Misses struct {
	events   []*missedTracepoint
	reported uint64
	next     time.Time // time of the next look
	told     []string  // programs that hide events, and were named to the user
	news     bool      // programs came since the last call of News
}

// missedTracepoint is an event of perf, with the programs attached to its
// tracepoint.
type missedTracepoint struct {
	fd       int
	skipped  uint64          // counted by programs that are gone
	unread   map[uint32]bool // programs that may not be opened, or not any more
	programs map[uint32]*missingProgram
}

// missingProgram is a program that is attached there, or was; it is held open so that its count can
// be read once more.
type missingProgram struct {
	own     *ebpf.Program
	began   uint64
	skipped uint64
	hides   string // its name, if it hides events from perf
}

// WatchMisses watches events, which are descriptors of perf_event_open and stay the caller's. It
// duplicates them, since the caller may close one when its CPU goes offline. It returns nil if
// there is nothing to watch, or no privilege to do so.
func WatchMisses(events []int) *Misses {
	w := &Misses{}
	for _, fd := range events[:min(len(events), most)] {
		if _, err := hangingAt(fd); err != nil {
			continue // no tracepoint, or not permitted
		}
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			continue
		}
		at := &missedTracepoint{fd: own, programs: map[uint32]*missingProgram{}, unread: map[uint32]bool{}}
		w.look(at, true)
		w.events = append(w.events, at)
	}
	if len(w.events) == 0 {
		return nil
	}
	return w
}

// Look finds newly attached programs, if the last look was long ago. Programs that come and go
// between two looks are not seen.
func (w *Misses) Look(now time.Time) {
	if w == nil || now.Before(w.next) {
		return
	}
	w.next = now.Add(every)
	for _, at := range w.events {
		w.look(at, false)
	}
}

// News reports that programs came since the last call, for callers that tell the user of them: a run asks
// each time it wakes up.
func (w *Misses) News() bool {
	if w == nil {
		return false
	}
	news := w.news
	w.news = false
	return news
}

func (w *Misses) look(at *missedTracepoint, first bool) { w.news = at.look(first) || w.news }

// Lost is the number of hits that were skipped since the last call.
func (w *Misses) Lost() uint64 {
	if w == nil {
		return 0
	}
	n := uint64(0)
	for _, at := range w.events {
		w.look(at, false)
		n += at.sum()
	}
	before := w.reported
	w.reported = n
	return n - before
}

// Tell reports to the user why the hits that Lost counted were lost, if there
// are any.
func (w *Misses) Tell(say func(format string, args ...any)) {
	if w == nil || w.reported == 0 {
		return
	}
	say("%d of the lost events, of any process: BPF programs that hang at these "+
		"tracepoints were left out, since BPF was at work on the CPU, and perf gets no event then; "+
		"pairs around them may be wrong", w.reported)
}

// Close closes the programs and the events.
func (w *Misses) Close() error {
	if w == nil {
		return nil
	}
	var errs []error
	for _, at := range w.events {
		errs = append(errs, unix.Close(at.fd))
		for _, p := range at.programs {
			p.own.Close()
		}
	}
	w.events = nil
	return errors.Join(errs...)
}

// sum is the number of hits skipped at one tracepoint. A skipped hit is skipped for all programs
// there, so it is their maximum.
func (at *missedTracepoint) sum() uint64 {
	n := uint64(0)
	for _, p := range at.programs {
		n = max(n, p.skipped)
	}
	return at.skipped + n
}

// look reads the counts, and adds new programs. Counts from before the first look do not belong to
// the run. A program that is new at a later look has been attached during the run, so its whole
// count does. came says that there are new programs.
func (at *missedTracepoint) look(first bool) (came bool) {
	ids, err := hangingAt(at.fd)
	if err != nil {
		return false // the next look may succeed
	}
	there := map[uint32]bool{}
	for _, id := range ids {
		there[id] = true
		if at.programs[id] != nil {
			continue
		}
		own, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
		if err != nil {
			// The program is gone, or may not be opened. Programs may come and go for months.
			if !at.unread[id] && len(at.unread) < most {
				at.unread[id], came = true, true
			}
			continue
		}
		came = true
		p := &missingProgram{own: own, hides: hides(own, id)}
		if first {
			p.began = p.read()
		}
		at.programs[id] = p
	}
	var gone uint64
	for id, p := range at.programs {
		p.skipped = p.read() - p.began
		if !there[id] {
			gone = max(gone, p.skipped)
			p.own.Close()
			delete(at.programs, id)
		}
	}
	if gone == 0 {
		return came
	}
	// The counts of the programs that are gone are kept; the other programs count
	// from here on.
	at.skipped += gone
	for _, p := range at.programs {
		began := min(p.began+gone, p.began+p.skipped)
		p.skipped -= began - p.began
		p.began = began
	}
	return came
}

// read is the kernel's count of skipped hits for the program; 0 if it has none.
func (p *missingProgram) read() uint64 {
	st, err := p.own.Stats()
	if err != nil {
		return 0
	}
	return st.RecursionMisses
}

// hangingAt lists the numbers of the programs at the tracepoint of an event.
//
// It must match struct perf_event_query_bpf in include/uapi/linux/perf_event.h: the room, how many
// there are, and their numbers.
func hangingAt(event int) (ids []uint32, err error) {
	var query [8 + 4*most]byte
	binary.NativeEndian.PutUint32(query[:], most)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(event), unix.PERF_EVENT_IOC_QUERY_BPF,
		uintptr(unsafe.Pointer(&query[0])))
	if errno != 0 && errno != unix.ENOSPC { // there are more programs than room
		return nil, errno
	}
	n := min(binary.NativeEndian.Uint32(query[4:]), most)
	for i := range n {
		ids = append(ids, binary.NativeEndian.Uint32(query[8+4*i:]))
	}
	return ids, nil
}
