package load

import (
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
)

// This file attaches programs to probes, by events of perf's probe PMUs: they are gone
// when their descriptors are, also if the process is killed.

// probe attaches the program of a probe. Nobody reads the event itself: it stays
// disabled, and the program runs for each hit all the same. The event is one for the
// whole machine, since each one plants a probe of its own; but the instruction of a
// program is changed in the processes of the target alone, if these are known, since
// each hit of another process costs that one a trap.
func (r *Run) probe(p *Program, prog *ebpf.Program, t *Target) error {
	if p.many() && !p.User {
		return r.plantMany(p, prog)
	}
	plant := r.plant
	if p.many() {
		plant = r.plantUser
	}
	if !p.User {
		return plant(p, prog, -1)
	}
	return eachPID(t, func(pid int) error { return plant(p, prog, pid) })
}

// eachPID plants a probe in a program: in each process of the target, if these are known,
// else in all, which is -1.
func eachPID(t *Target, plant func(pid int) error) error {
	pids := []int{-1}
	if !t.Follow && !t.Workload && len(t.PIDs) > 0 {
		pids = t.PIDs
	}
	for _, pid := range pids {
		if err := plant(pid); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) plant(p *Program, prog *ebpf.Program, pid int) error {
	at := &r.Places[p.Event]
	attr := unix.PerfEventAttr{Type: p.Type, Config: p.ID, Ext1: at.Config1, Ext2: at.Config2,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitDisabled, Sample: 1}
	var pin runtime.Pinner
	defer pin.Unpin()
	if at.Config1Text != "" {
		text, err := unix.BytePtrFromString(at.Config1Text)
		if err != nil {
			return err
		}
		pin.Pin(text)
		attr.Ext1 = uint64(uintptr(unsafe.Pointer(text)))
	}
	on := func(cpu int) (int, error) {
		return unix.PerfEventOpen(&attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	var fd int
	var err error
	if pid < 0 {
		fd, err = kernel.OnACPU(on)
	} else {
		fd, err = on(-1)
	}
	if err != nil {
		return err
	}
	r.links = append(r.links, func() error { return unix.Close(fd) })
	return r.hang(p, prog, fd)
}

// plantMany attaches the program to many functions of the kernel by one link.
func (r *Run) plantMany(p *Program, prog *ebpf.Program) error {
	r.missing.at(p)
	var o link.KprobeMultiOptions
	for i, event := range p.Places {
		o.Symbols = append(o.Symbols, r.Places[event].Config1Text)
		o.Cookies = append(o.Cookies, Cookie(i, event))
	}
	attach := link.KprobeMulti
	if p.ID&returns != 0 {
		attach = link.KretprobeMulti
	}
	l, err := attach(prog, o)
	if err != nil {
		return err
	}
	r.links = append(r.links, l.Close)
	if l, ok := l.(interface{ FD() int }); ok {
		r.missing.links = append(r.missing.links, l.FD())
	}
	return nil
}

// Cookie is what the program of many places is told of one: its number among them, and, in the
// upper half, that of its event.
func Cookie(place, event int) uint64 { return uint64(event)<<32 | uint64(place) }

// returns is the bit of attr.config by which a probe sits where a function returns.
const returns = 1
