package load

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"ppscript/runtime/source/probe"
	"ppscript/runtime/system/kernel"
)

// This file reads how many hits probes of the kernel missed. No program is called for
// these, so that programs cannot count them: a return probe keeps a place for each call
// that is active, and misses the return if none is free (10 places, or two for each
// CPU); no probe hits while another one runs on the CPU. Links tell the number (6.7).

// The missing are the hits that links missed.
type missing struct {
	links  []int  // descriptors
	closed uint64 // of links that are closed
	// before is how many hits were missed before the run began.
	before   uint64
	reported uint64
	// silent are the return probes whose links do not tell.
	silent []string
	// looked is when the number was last read, and since the time of the look before
	// the first one that found some.
	looked, since time.Time
}

// look notes that the number was read, and whether it became larger.
func (m *missing) look(more bool) {
	if more && m.since.IsZero() {
		m.since = m.looked
	}
	m.looked = time.Now()
}

// objInfo is a command of bpf(2).
const objInfo = 15

type infoAttr struct {
	fd, size uint32
	info     unsafe.Pointer
}

// must match struct bpf_link_info in include/uapi/linux/bpf.h
type linkInfo struct {
	kind, id, program uint32
	_                 uint32
	// union is the part of the kind: of links to events of perf, and to many functions.
	union [12]uint64
}

// Values of linkInfo.kind, and where its union tells the hits that were missed.
const (
	linkPerf  = 7 // BPF_LINK_TYPE_PERF_EVENT
	linkMulti = 8 // BPF_LINK_TYPE_KPROBE_MULTI

	perfKprobe, perfKretprobe = 3, 4 // enum bpf_perf_event_type, perf_event.type

	missedPerf  = 4 // perf_event.kprobe.missed
	missedMulti = 2 // kprobe_multi.missed
)

// missedBy is how many hits a link missed; 0 if the kernel does not tell.
func missedBy(fd int) uint64 {
	var info linkInfo
	a := infoAttr{fd: uint32(fd), size: uint32(unsafe.Sizeof(info)), info: unsafe.Pointer(&info)}
	_, _, e := unix.Syscall(unix.SYS_BPF, objInfo, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a))
	switch {
	case e != 0:
	case info.kind == linkMulti:
		return info.union[missedMulti]
	case info.kind == linkPerf:
		if typ := uint32(info.union[0]); typ == perfKprobe || typ == perfKretprobe {
			return info.union[missedPerf]
		}
	}
	return 0
}

// sum is the number of all hits that were missed so far.
func (m *missing) sum() uint64 {
	n := m.closed
	for _, fd := range m.links {
		n += missedBy(fd)
	}
	return n - m.before
}

// begin counts from now on.
func (m *missing) begin() { m.before = 0; m.before = m.sum() }

// end keeps the number, since the links are about to be closed.
func (m *missing) end() { m.closed, m.before, m.links = m.sum(), 0, nil }

// LeftOut says why hits were lost that Loss found, a sentence for each reason. Beside
// what probes missed, the kernel runs no program while another one runs on the same CPU,
// or a system call that changes a map (bpf_prog_active in kernel/trace/bpf_trace.c).
func (r *Run) LeftOut() (why []string) {
	if n := r.missed; n > 0 {
		why = append(why, fmt.Sprintf("%d of the lost events: "+
			"the kernel left programs out, since others ran on the CPU at that moment", n))
	}
	if n := r.missing.reported; n > 0 {
		why = append(why, fmt.Sprintf("%d of the lost events, of any process: probes of the kernel missed "+
			"them, since more calls were active than it keeps room for, or another probe ran on the CPU", n))
	}
	if n := r.missed + r.missing.reported; n > 0 && r.im.Relates {
		since := ""
		if at := r.missing.since; !at.IsZero() {
			since = at.Format(", of those since 15:04:05")
		}
		why = append(why, fmt.Sprintf("at most %d of the pairs that were counted in the kernel%s may be "+
			"wrong: an event between theirs was lost", n, since))
	}
	if silent := r.missing.silent; len(silent) > 0 {
		why = append(why, probe.MissedReturns(silent[0], len(silent)-1))
	}
	return why
}

// at notes that a program stands at a probe of the kernel.
func (m *missing) at(p *Program) {
	if p.ID&returns == 0 || p.User || slices.Contains(m.silent, p.Label) {
		return
	}
	if v, err := kernel.ReadVersion(kernel.Roots{}); err == nil && !v.AtLeast(6, 7) {
		m.silent = append(m.silent, p.Label)
	}
}

// hang has the program called by an event of a probe. Only a link (5.15) tells what the
// probe missed, and only if the probe is one of the kernel.
func (r *Run) hang(p *Program, prog *ebpf.Program, event int) error {
	r.missing.at(p)
	if !p.User {
		o := link.RawLinkOptions{Target: event, Program: prog, Attach: ebpf.AttachPerfEvent}
		if l, err := link.AttachRawLink(o); err == nil {
			r.links = append(r.links, l.Close)
			r.missing.links = append(r.missing.links, l.FD())
			return nil
		}
	}
	return unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, prog.FD())
}
