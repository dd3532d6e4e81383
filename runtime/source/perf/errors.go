package perf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// This file converts errors of system calls to messages with causes.
// perf_event_open uses few error numbers for many causes, so the cause is
// derived from the number and the arguments of the call.

// explainOpen returns the error with the reason why m did not open on p.
func (o *opener) explainOpen(m *member, p place, err error) error {
	e := &diag.Error{Op: "open event", Subject: m.ev.name() + o.where(p), Cause: err, Class: diag.Attach}
	if err := explainProbe(m, e); err != nil {
		return err
	}
	switch {
	case errors.Is(err, unix.ESRCH):
		// openAll skips threads that have ended; this message is for a cgroup
		// or the workload.
		e.Cause = fmt.Errorf("the task is gone: %w", err)
		return e.WithHint("look for it with: ps -eL")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return o.explainPermission(m, e)
	case errors.Is(err, unix.ENOENT) && p.flags&unix.PERF_FLAG_PID_CGROUP != 0 && opensBare(&m.attr):
		// In a cgroup2 hierarchy, cgroups have no state for perf_event until
		// some controller was enabled once.
		e.Cause = fmt.Errorf("the kernel keeps no events for this cgroup yet: %w", err)
		return e.WithHint(
			"switch any controller on once, and make the cgroup anew: echo +pids > /sys/fs/cgroup/cgroup.subtree_control")
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP):
		return o.explainAbsent(m, e)
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		if p.cpu >= 0 {
			e.Cause = fmt.Errorf("CPU %d is offline, or its PMU is not there: %w", p.cpu, err)
			return e.WithHint("see which are online with: cat /sys/devices/system/cpu/online")
		}
		return o.explainAbsent(m, e)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		n := len(o.att.places) * (len(o.cfg.Events) + 1)
		e.Cause = fmt.Errorf("%d events on %d CPUs or threads need %d descriptors: %w",
			len(o.cfg.Events), len(o.att.places), n, err)
		return e.WithHint("raise the limit with: ulimit -n %d", n+256)
	case errors.Is(err, unix.ENOSPC):
		e.Cause = fmt.Errorf("no hardware slot is free: %w", err)
		return e.WithHint("open fewer breakpoints or counters at once")
	case errors.Is(err, unix.EBUSY):
		e.Cause = fmt.Errorf("the PMU is in use by another: %w", err)
		return e.WithHint("end other profilers, or the NMI watchdog with: sysctl kernel.nmi_watchdog=0")
	case errors.Is(err, unix.ENOMEM):
		e.Cause = fmt.Errorf("the kernel is out of memory: %w", err)
		return e.WithHint("open fewer events, or on fewer CPUs")
	case errors.Is(err, unix.EOVERFLOW):
		e.Cause = fmt.Errorf("callchains of %d addresses are longer than the kernel allows: %w",
			m.ev.MaxStack, err)
		return e.WithHint("raise the limit with: sysctl kernel.perf_event_max_stack=%d", m.ev.MaxStack)
	case errors.Is(err, unix.E2BIG):
		e.Cause = fmt.Errorf("this kernel has a smaller struct perf_event_attr: %w", err)
		return e.WithHint("leave out breakpoints or probes with attributes that this kernel lacks")
	case errors.Is(err, unix.EINVAL):
		return o.explainInvalid(m, p, e)
	}
	return e.WithHint("run as root, and see what is missing with: ppscript doctor")
}

// where names the place in errors.
func (o *opener) where(p place) string {
	switch {
	case p.flags&unix.PERF_FLAG_PID_CGROUP != 0:
		return fmt.Sprintf(" on a cgroup, CPU %d", p.cpu)
	case p.pid > 0 && p.cpu >= 0:
		return fmt.Sprintf(" on thread %d, CPU %d", p.pid, p.cpu)
	case p.pid > 0:
		return fmt.Sprintf(" on thread %d", p.pid)
	}
	return fmt.Sprintf(" on CPU %d", p.cpu)
}

// errOnlyCounted is the reason why some tracepoints cannot be sampled by any
// user: a sample of them would cause the next hit, as for
// irq_vectors:irq_work_exit.
var errOnlyCounted = errors.New("the kernel lets it be counted, not sampled")

// errNoTracepoint is the reason why events of the kernel's own tracers (system
// ftrace) cannot be opened by any user: they have a format, but no tracepoint.
var errNoTracepoint = errors.New("no such tracepoint")

// An absentTracepoint is an errNoTracepoint with the kernel's own error.
type absentTracepoint struct {
	id  uint64
	err error
}

func (e *absentTracepoint) Error() string {
	return fmt.Sprintf("this kernel has no tracepoint with id %d: %v", e.id, e.err)
}
func (e *absentTracepoint) Unwrap() []error { return []error{errNoTracepoint, e.err} }

// onlyCounted reports that the kernel opens the event if it is not sampled.
func onlyCounted(m *member) bool {
	return m.attr.Type == unix.PERF_TYPE_TRACEPOINT && m.attr.Sample > 0 && opens(&m.attr)
}

// OnlyCounted reports that the kernel lets a tracepoint be counted, but not sampled.
func OnlyCounted(s *event.Schema) bool {
	a := unix.PerfEventAttr{Type: s.Type, Config: s.ID, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: 1, Bits: unix.PerfBitDisabled}
	if s.Type != unix.PERF_TYPE_TRACEPOINT || !opens(&a) {
		return false
	}
	fd, err := unix.PerfEventOpen(&a, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return errors.Is(err, unix.EPERM)
}

func (o *opener) explainPermission(m *member, e *diag.Error) error {
	if onlyCounted(m) {
		e.Cause = fmt.Errorf("%w: %w", errOnlyCounted, e.Cause)
		return e.WithHint("count it: ppscript stat -e %s", m.ev.Schema.FullName())
	}
	if isUserProbe(m) {
		e.Cause = fmt.Errorf("not permitted: probes in programs need CAP_SYS_ADMIN: %w", e.Cause)
		return e.WithHint("%s", privilege.Advice("cap_sys_admin,"+privilege.Tracing, self()))
	}
	if caps, err := kernel.ReadCaps(kernel.Roots{}); err == nil && caps.Has(kernel.CapPerfmon) &&
		!caps.Has(kernel.CapSysAdmin) {
		e.Cause = fmt.Errorf(
			"not permitted: this kernel wants CAP_SYS_ADMIN for it, not only CAP_PERFMON: %w", e.Cause)
		return e.WithHint("%s", privilege.Advice("cap_sys_admin,"+privilege.Tracing, self()))
	}
	level := readInt("/proc/sys/kernel/perf_event_paranoid", 2)
	what := fmt.Sprintf("kernel.perf_event_paranoid is %d", level)
	if m.attr.Type == unix.PERF_TYPE_TRACEPOINT {
		what = "tracepoints need CAP_PERFMON"
	} else if len(o.att.places) > 0 && o.att.places[0].pid < 0 {
		what = "whole CPUs need CAP_PERFMON while " + what
	}
	e.Cause = fmt.Errorf("not permitted: %s: %w", what, e.Cause)
	return e.WithHint("%s", privilege.Advice("cap_perfmon,cap_dac_read_search", self()))
}

func (o *opener) explainAbsent(m *member, e *diag.Error) error {
	hint := "see what there is with: ls /sys/bus/event_source/devices"
	what := "no such event"
	switch {
	case m.attr.Type == unix.PERF_TYPE_TRACEPOINT:
		e.Cause = &absentTracepoint{id: m.attr.Config, err: e.Cause}
		return e.WithHint("see what there is with: ppscript list")
	case ofCPU(&m.attr):
		what = fmt.Sprintf(
			"this machine has no hardware counter of %s; virtual machines often have none at all",
			strings.Join(o.absent(), ", "))
		hint = "see what the CPU counts with: ls /sys/bus/event_source/devices/*/events"
		if m.attr.Type == unix.PERF_TYPE_HARDWARE && m.attr.Config == unix.PERF_COUNT_HW_CPU_CYCLES {
			hint = "use software:cpu-clock instead"
		}
	}
	e.Cause = fmt.Errorf("%s: %w", what, e.Cause)
	return e.WithHint("%s", hint)
}

// ofCPU reports that an event is a hardware counter of the CPU.
func ofCPU(a *unix.PerfEventAttr) bool {
	return a.Type == unix.PERF_TYPE_HARDWARE || a.Type == unix.PERF_TYPE_HW_CACHE ||
		a.Type == unix.PERF_TYPE_RAW
}

// absent lists all requested counters that the CPU lacks, so that the error
// names all of them at once.
func (o *opener) absent() (names []string) {
	for _, m := range o.members(true) {
		if m.ev.Schema != nil && ofCPU(&m.attr) && !opens(&m.attr) &&
			!slices.Contains(names, m.ev.Schema.Name) {
			names = append(names, m.ev.Schema.Name)
		}
	}
	return names
}

func (o *opener) explainInvalid(m *member, p place, e *diag.Error) error {
	limit := readInt("/proc/sys/kernel/perf_event_max_sample_rate", 0)
	switch {
	case m.attr.Bits&unix.PerfBitFreq != 0 && limit > 0 && m.attr.Sample > uint64(limit):
		e.Class = diag.Usage
		e.Cause = fmt.Errorf("frequency: got %d Hz, want at most %d", m.attr.Sample, limit)
		return e.WithHint("use -F %d, or raise the limit with: sysctl kernel.perf_event_max_sample_rate=%d",
			limit, m.attr.Sample)
	case m.attr.Type == unix.PERF_TYPE_TRACEPOINT && !opensBare(&m.attr):
		return o.explainAbsent(m, e)
	case m.attr.Type == unix.PERF_TYPE_BREAKPOINT:
		e.Cause = fmt.Errorf("the CPU has no breakpoint of this type and length at this address: %w", e.Cause)
		return e.WithHint(
			"use an aligned address, a length of 1, 2, 4 or 8, and w or rw; x needs length 8 on x86")
	case p.flags&unix.PERF_FLAG_PID_CGROUP != 0:
		e.Cause = fmt.Errorf("the kernel does not take this cgroup: %w", e.Cause)
		return e.WithHint("see whether it has cgroup support with: grep CGROUP_PERF /boot/config-$(uname -r)")
	case m.attr.Bits&unix.PerfBitUseClockID != 0:
		e.Cause = fmt.Errorf("the event cannot be stamped with this clock: %w", e.Cause)
		return e.WithHint("leave out --monotonic")
	case m.ev.Schema != nil && m.ev.Schema.System == "pmu":
		if err := explainPMU(m, p, e); err != nil {
			return err
		}
	}
	e.Cause = fmt.Errorf("this kernel does not support the requested attributes: %w", e.Cause)
	return e.WithHint("leave out stacks, registers and attributes one by one, and see: ppscript doctor")
}

// opensBare reports that the event opens on this thread without further
// attributes, so that EINVAL was caused by the attributes.
func opensBare(a *unix.PerfEventAttr) bool { return try(a) != unix.EINVAL }

// opens reports that the event opens on this thread without further attributes.
func opens(a *unix.PerfEventAttr) bool { return try(a) == nil }

// opensOn reports that it opens on a thread or a CPU without further attributes.
func opensOn(a *unix.PerfEventAttr, pid, cpu int) bool { return tryOn(a, pid, cpu) == nil }

func try(a *unix.PerfEventAttr) error { return tryOn(a, 0, -1) }

func tryOn(a *unix.PerfEventAttr, pid, cpu int) error {
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: a.Type, Config: a.Config, Size: a.Size,
		Bits: unix.PerfBitDisabled}, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// explainPMU returns the error if the PMU opens the event, but does not support
// sampling or the target; nil otherwise.
func explainPMU(m *member, p place, e *diag.Error) error {
	cpu := max(p.cpu, 0)
	if !opensOn(&m.attr, -1, cpu) {
		return nil
	}
	if m.attr.Sample > 0 {
		e.Class, e.Cause = diag.Usage, fmt.Errorf("this PMU counts, and takes no samples: %w", e.Cause)
		return e.WithHint("count it: counters([...]), or ppscript stat -e DEVICE/NAME/")
	}
	if p.pid >= 0 {
		e.Class, e.Cause = diag.Usage,
			fmt.Errorf("this PMU counts what CPUs do, not what threads do: %w", e.Cause)
		return e.WithHint("observe all CPUs: leave out -p and -t, give --system with a command")
	}
	return nil
}

// explainMap returns the error with the reason why a ring was not mapped.
func (o *opener) explainMap(err error) error {
	size := o.cfg.dataSize()
	e := &diag.Error{
		Op: "map ring", Subject: fmt.Sprintf("of %d pages", o.cfg.Pages), Cause: err, Class: diag.Attach,
	}
	switch {
	case errors.Is(err, unix.EPERM):
		kb := readInt("/proc/sys/kernel/perf_event_mlock_kb", 516)
		e.Cause = fmt.Errorf("%d rings of %s are more than an ordinary user may lock "+
			"(%d KiB for each CPU and ulimit -l): %w",
			len(o.att.rings), unit.Size(int64(size)), kb, err)
		return e.WithHint("use a smaller -m, or: sysctl kernel.perf_event_mlock_kb=%d",
			(size+o.page)*len(o.att.rings)>>10)
	case errors.Is(err, unix.ENOMEM):
		e.Cause = fmt.Errorf("no memory for %d rings of %s: %w", len(o.att.rings),
			unit.Size(int64(size)), err)
		return e.WithHint("use a smaller -m")
	}
	return e.WithHint("use a smaller -m")
}

// A FilterError is the error if the kernel refuses an event's filter. A caller
// that can filter by itself may then open the event without the filter.
type FilterError struct {
	Label, Filter string
	Err           error
}

func (e *FilterError) Error() string { return e.Err.Error() }
func (e *FilterError) Unwrap() error { return e.Err }

// explainFilter returns the error with the reason why the kernel refused a
// filter. The kernel's message is only available in tracefs, so the filter is
// tried there, too.
func (o *opener) explainFilter(m *member, err error) error {
	e := &diag.Error{
		Op:      "filter",
		Subject: fmt.Sprintf("%s: %q", m.ev.name(), m.ev.Filter),
		Cause:   err,
		Class:   diag.Usage,
	}
	if len(m.ev.Schema.Fields) == 0 {
		e.Cause = fmt.Errorf("only tracepoints and probes have kernel filters: %w", err)
		return e.WithHint("use .where() instead")
	}
	var why string
	privilege.Raise(privilege.Kernel, func() {
		why = kernelFilterError(o.cfg.Tracefs, m.ev.Schema, m.ev.Filter)
	})
	if why != "" {
		e.Cause = fmt.Errorf("%s: %w", why, err)
	} else {
		e.Cause = fmt.Errorf("the kernel does not understand it: %w", err)
	}
	return e.WithHint("the fields are %s", strings.Join(fieldNames(m.ev.Schema), " "))
}

func readInt(path string, absent int) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return absent
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return absent
	}
	return n
}

// self returns the path of this program, for commands in hints.
func self() string {
	if p, err := os.Executable(); err == nil {
		return p
	}
	return "ppscript"
}
