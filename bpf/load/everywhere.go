package load

import (
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
)

// everywhere has a program called by each event of the software on all CPUs, of all tasks: such as
// the ends of page faults, which are kept beside tracepoints. Unlike these, events of the software
// are opened for one CPU each; on one that comes later they are not seen.
func everywhere(r *Run, p *Program, prog *ebpf.Program) error {
	cpus, err := kernel.OnlineCPUs()
	if err != nil {
		return err
	}
	attr := unix.PerfEventAttr{Type: p.Type, Config: p.ID, Sample: 1,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitDisabled}
	for _, cpu := range cpus {
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return err
		}
		r.links = append(r.links, func() error { return unix.Close(fd) })
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, prog.FD()); err != nil {
			return err
		}
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return err
		}
	}
	return nil
}
