// Package features finds out which features this kernel has for generated programs, and where its
// structures and variables are. Package bpf asks a Host while it generates; Find makes the Host of
// this kernel.
package features

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/cilium/ebpf/rlimit"

	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
)

// A Host lists the features of this kernel for generated programs. The zero
// Host is the oldest kernel, 5.10 without type information.
type Host struct {
	// TaskStorage says that values can be kept with a task (5.11).
	TaskStorage bool
	// LongKeys says that keys may be longer than the stack (5.11).
	LongKeys bool
	// Grows says that hashes may take memory while programs run (6.1).
	Grows bool
	// Atomics says that programs can compare and exchange (5.12).
	Atomics bool
	// Guarded says that the kernel does not run a raw program that would
	// interrupt itself (6.2). On older kernels only events that cannot
	// interrupt each other have raw programs.
	Guarded bool
	// Preempted says that programs of probes in user code can be preempted (6.0).
	Preempted bool
	Links
	TaskFlags
	// Offset finds a member of a structure; nil if there is no type
	// information.
	Offset func(typ, member string) (bytes int, ok bool)
	// Function finds the number of a function that programs may call; nil if
	// there is no type information.
	Function func(name string) (id int, ok bool)

	// Variable finds where a variable lies in the memory of each CPU; nil if there
	// is no type information.
	Variable func(name string) (bytes int, ok bool)

	// Event finds the number of a tracepoint; nil if numbers are not available.
	Event func(system, name string) (id uint64, ok bool)

	// NoCgroup says why programs cannot read the cgroup that samples have; "" if they
	// can.
	NoCgroup string

	// AsRaw loads every program as the program of a raw tracepoint, with the
	// record as the tracepoint's arguments: a test can run such a program
	// without an event.
	AsRaw bool
}

// TaskFlags describes the flags of a task from which programs compute the context of an
// event.
type TaskFlags struct {
	// NeedResched is the number of the flag that says that a task must give up
	// the CPU; 0 if not known.
	NeedResched int
	// LazyResched is the number of the flag that says so without hurry; 0 if not known,
	// NoFlag if this kernel has none.
	LazyResched int
	// TellsBH says that records have a flag for disabled softirqs (5.17).
	TellsBH func() bool
}

// Links are the ways to attach programs to functions.
type Links struct {
	// KprobeMulti says that one link attaches a program to many functions (5.18).
	// UprobeMulti says that one link attaches a program to many places in a file
	// (6.6) and, if it is restricted to a process, covers all threads of that process
	// (6.10).
	KprobeMulti, UprobeMulti bool
	// IsReturn is the number of the kernel's function that tells the program of a
	// session whether it runs for a return; 0 if there is none. A session is one
	// program for the calls and the returns of functions. KprobeSession says that
	// functions of the kernel can have sessions (6.10), UprobeSession that functions of
	// user programs can (6.13).
	IsReturn                     int
	KprobeSession, UprobeSession bool
	// TellsFunction says that programs on returns in the kernel can find out which
	// function returns, and to where (6.1).
	TellsFunction bool
	// Trampoline finds a function of the kernel that can call programs through a
	// trampoline; nil if this kernel has no trampolines.
	Trampoline func(function string) (f *Function, ok bool)
	// LeavesOut says that programs of raw tracepoints can be preempted (7.0). Until a
	// preempted program continues, the kernel does not run it for other tasks on the CPU,
	// and thousands of events are lost where tasks compete. Programs that perf calls cannot
	// be preempted, but cost 70 ns more.
	LeavesOut bool
}

// Raw reports that the program of a tracepoint may be attached to the raw tracepoint; needed
// says that only there it can read what it needs.
func (h *Host) Raw(name string, needed bool) bool {
	if h.Links.LeavesOut && !needed {
		return false
	}
	return name == "sys_enter" || name == "sys_exit" || h.Guarded
}

// Member finds the offset of a member of a structure.
func (h *Host) Member(typ, member string) (int, bool) {
	if h.Offset == nil {
		return 0, false
	}
	return h.Offset(typ, member)
}

// PerCPU finds where a variable lies in the memory of each CPU.
func (h *Host) PerCPU(name string) (int, bool) {
	if h.Variable == nil {
		return 0, false
	}
	return h.Variable(name)
}

// PreemptCount finds where preempt_count() lies in the memory of each CPU. From 6.2 to 6.14
// it is in pcpu_hot, the structure of the variables that a CPU needs most.
func (h *Host) PreemptCount() (int, bool) {
	if at, ok := h.PerCPU("__preempt_count"); ok {
		return at, true
	}
	hot, known := h.PerCPU("pcpu_hot")
	at, ok := h.Member("pcpu_hot", "preempt_count")
	return hot + at, known && ok
}

// Status returns the offset of thread_info in a task and of its status, which
// says whether the task is in a 32-bit system call.
func (h *Host) Status() (info, status int, ok bool) {
	info, known := h.Member("task_struct", "thread_info")
	status, ok = h.Member("thread_info", "status")
	return info, status, ok && known && h.TaskStorage
}

// Tables reports that programs can walk user code by its unwind tables: they can read the
// registers with which it entered the kernel (5.15), and loop often enough (5.17).
func (h *Host) Tables() bool {
	if h == nil || h.Function == nil || runtime.GOARCH != "amd64" {
		return false
	}
	_, finds := h.Function("bpf_task_pt_regs")
	_, loops := h.Function("bpf_loop")
	return finds && loops && h.TaskStorage
}

// Tells32 reports that programs can recognize 32-bit system calls.
func (h *Host) Tells32() bool {
	_, _, ok := h.Status()
	return ok
}

// initPIDNS is the inode of the initial pid namespace, PROC_PID_INIT_INO.
const initPIDNS = 0xEFFFFFFC

// Find finds out what this kernel and this process can do; described says that nothing will be
// loaded, so that this process needs no privilege. The error says why no program can run.
func Find(r kernel.Roots, described bool) (*Host, error) {
	caps, err := kernel.ReadCaps(r)
	switch {
	case described:
	case err != nil:
		return nil, err
	case !caps.CanBPF():
		return nil, diag.Errorf(diag.Attach, "bpf", "privilege", "programs need CAP_BPF and CAP_PERFMON").
			WithHint("%s", privilege.Advice("cap_bpf,cap_perfmon", "ppscript"))
	}
	v, err := kernel.ReadVersion(r)
	if err != nil {
		return nil, err
	}
	if !v.AtLeast(5, 10) {
		return nil, &diag.Unsupported{
			Feature: "generated programs", Since: "5.10", Instead: "events are read from rings",
		}
	}
	var st syscall.Stat_t
	if err := syscall.Stat(r.ProcPath("self/ns/pid"), &st); err == nil && st.Ino != initPIDNS {
		return nil, diag.Errorf(diag.Attach, "bpf", "namespace",
			"programs see other process numbers than this pid namespace has").
			WithHint("run it in the host's pid namespace")
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return nil, errors.ErrUnsupported
	}
	h := &Host{
		TaskStorage: v.AtLeast(5, 11),
		LongKeys:    v.AtLeast(5, 11),
		Atomics:     v.AtLeast(5, 12),
		Grows:       v.AtLeast(6, 1),
		Guarded:     v.AtLeast(6, 2),
		Preempted:   v.AtLeast(6, 0),
		Links:       Links{TellsFunction: v.AtLeast(6, 1), LeavesOut: v.AtLeast(7, 0)},
		TaskFlags:   TaskFlags{needResched(v), lazyResched(r, v), tellsBH(v)},
		Event:       tracefs.EventID,
	}
	if mounts, err := kernel.ReadMounts(r); err == nil && mounts.PerfEventV1 != "" {
		h.NoCgroup = "the cgroups of samples are those of version 1, of which programs know nothing"
	}
	if kernel.HasBTF(r) {
		h.Offset, h.Function, h.Variable = LookUps(r.ProcPath("kallsyms"))
		_, fprobe := h.Function("register_fprobe_ips")
		h.KprobeMulti = v.AtLeast(5, 18) && fprobe
		_, uprobe := h.Function("bpf_uprobe_multi_link_attach")
		h.UprobeMulti = v.AtLeast(6, 10) && uprobe
		h.IsReturn, _ = h.Function("bpf_session_is_return")
		h.KprobeSession = h.KprobeMulti && h.IsReturn != 0 && v.AtLeast(6, 10)
		h.UprobeSession = h.UprobeMulti && h.IsReturn != 0 && v.AtLeast(6, 13)
		h.Trampoline = trampolines(v)
	} else {
		h.TaskStorage = false
	}
	if !v.AtLeast(5, 11) {
		// Maps count as locked memory there.
		if err := rlimit.RemoveMemlock(); err != nil && !errors.Is(err, os.ErrPermission) {
			return nil, err
		}
	}
	return h, nil
}

// needResched is the number of TIF_NEED_RESCHED, a macro that the kernel's
// types do not have. x86 gave up its own numbers in 6.18.
func needResched(v kernel.Version) int {
	switch {
	case runtime.GOARCH == "arm64":
		return 1
	case v.AtLeast(6, 18):
		return 4
	}
	return 3
}

// NoFlag is the number of a flag that does not exist.
const NoFlag = -1

// lazyResched is the number of TIF_NEED_RESCHED_LAZY, which x86 has since 6.13, and kernels
// with the real-time patches had before.
func lazyResched(r kernel.Roots, v kernel.Version) int {
	_, err := os.Stat(r.SysPath("kernel/realtime"))
	switch realtime := err == nil; {
	case runtime.GOARCH != "amd64" || realtime && !v.AtLeast(6, 13):
		return 0
	case !v.AtLeast(6, 13):
		return NoFlag
	case v.AtLeast(6, 18):
		return 5
	}
	return 4
}

// tellsBH asks the types of kernels before 5.17: distributions have added the flag to older
// kernels.
func tellsBH(v kernel.Version) func() bool {
	return sync.OnceValue(func() bool {
		if v.AtLeast(5, 17) {
			return true
		}
		_, err := kerneltype.Running().Enumerator("TRACE_FLAG_BH_OFF")
		return err == nil
	})
}
