package kernel

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/unit"
)

// This file tries perf_event_open for the doctor: first like a session, for
// every process on one CPU, then for this thread's user space only, which
// distinguishes "not allowed" from "not there".

const attrSize = unix.PERF_ATTR_SIZE_VER5 // every kernel that Go runs on has this size

// openEvent opens an event that never starts counting.
func openEvent(attr unix.PerfEventAttr, pid, cpu int) (fd int, err error) {
	attr.Size = attrSize
	attr.Bits |= unix.PerfBitDisabled
	return unix.PerfEventOpen(&attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// tryEvent opens the event and closes it.
func tryEvent(attr unix.PerfEventAttr, pid, cpu int) error {
	fd, err := openEvent(attr, pid, cpu)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func denied(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// absent reports whether err can only mean that the kernel has no such event.
func absent(err error) bool {
	for _, e := range []error{unix.ENOENT, unix.EOPNOTSUPP, unix.ENODEV, unix.ENOSYS, unix.ENXIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// reach tries attr and reports how far it reaches. missing is the answer when
// the kernel has no such event.
func (d *doctor) reach(what string, attr unix.PerfEventAttr, missing Check) Check {
	cpu := 0
	if len(d.CPUs.Online) > 0 {
		cpu = d.CPUs.Online[0]
	}
	err := tryEvent(attr, -1, cpu)
	switch {
	case err == nil:
		return ok(what + " opens for all processes")
	case absent(err):
		return missing
	case !denied(err):
		return unsure(fmt.Sprintf("open %s: %v", what, err), "")
	}
	attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	switch own := tryEvent(attr, 0, -1); {
	case own == nil:
		return warn(what+" opens for own processes in user space only", d.grant(d.traceCap().String()))
	case absent(own):
		return missing
	case denied(own):
		return fail(fmt.Sprintf("open %s: %v", what, err), d.grant(d.traceCap().String()))
	default:
		return unsure(fmt.Sprintf("open %s: %v", what, own), "")
	}
}

func (d *doctor) software() Check {
	clock := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
	return d.reach("cpu-clock", clock,
		fail("this kernel has no perf events", "use a kernel with CONFIG_PERF_EVENTS"))
}

func (d *doctor) hardware() Check {
	detail, fix := "no counters of the CPU", "sample with cpu-clock instead of cycles"
	if d.Hypervisor != "" {
		detail += ": the hypervisor offers none"
		fix += ", or give the guest a PMU (for example: qemu -cpu host,pmu=on)"
	}
	cycles := unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES}
	opens := d.reach("cycles", cycles, warn(detail, fix))
	return delivers(opens, d.try.cycles, "the counters stand still",
		"sample with cpu-clock instead of cycles")
}

func (d *doctor) tracepoint() Check {
	dir, err := d.opts.Tracefs()
	if err != nil {
		return unsure("tracefs: "+err.Error(), d.tracefsFix(err))
	}
	id, err := tracepointID(dir, "sched/sched_switch")
	if errors.Is(err, os.ErrPermission) {
		return fail("this user may not read the numbers of events",
			"run as root, or: "+d.command("mount -o remount,mode=755 "+dir))
	}
	if err != nil {
		return unsure(err.Error(), "")
	}
	opens := d.reach("sched:sched_switch", unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id},
		fail("this kernel has no tracepoints for perf", "use a kernel with CONFIG_EVENT_TRACING"))
	return delivers(opens, d.try.tracepoint, "system calls are not told",
		"use a kernel with CONFIG_HAVE_SYSCALL_TRACEPOINTS")
}

// ringPages is the size of the data of the ring that is tried, as in most
// sessions.
const ringPages = 128

func (d *doctor) rings() Check {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	fd, err := openEvent(attr, 0, -1)
	if err != nil {
		return unsure(fmt.Sprintf("no event to map a ring of: %v", err), d.grant(d.traceCap().String()))
	}
	defer unix.Close(fd)
	limits := d.ringLimits()
	mem, err := unix.Mmap(fd, 0, (ringPages+1)*d.PageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	switch {
	case denied(err):
		return warn(fmt.Sprintf("a ring of %s cannot be mapped; %s",
			unit.Size(int64(ringPages*d.PageBytes)), limits),
			d.command("sysctl kernel.perf_event_mlock_kb=8192"))
	case err != nil:
		return unsure(fmt.Sprintf("map a ring: %v", err), "")
	}
	if err := unix.Munmap(mem); err != nil {
		return unsure(fmt.Sprintf("unmap a ring: %v", err), "")
	}
	return ok(fmt.Sprintf("a ring of %s maps; %s", unit.Size(int64(ringPages*d.PageBytes)), limits))
}

func (d *doctor) ringLimits() string {
	if d.Caps.Has(CapIPCLock) {
		return "no limit with " + CapIPCLock.String()
	}
	limits := "the limit cannot be read"
	if kb := d.Settings.PerfEventMlockKB; kb.readable() {
		limits = fmt.Sprintf("limit: %dKiB for each CPU", kb.Value)
	}
	if locked := d.Limits.LockedBytes.Soft; locked == unlimited {
		limits += ", and locked memory has none"
	} else {
		limits += ", and " + unit.Size(int64(min(locked, 1<<62))) + " of locked memory"
	}
	return limits
}
