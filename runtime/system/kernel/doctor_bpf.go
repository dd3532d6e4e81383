package kernel

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// This file loads the smallest program of each type that ppscript attaches; one of them is
// attached, and runs. Trying is better than reading the kernel's configuration: a
// locked-down kernel has the feature and refuses it.

// A bpfDoctor examines programs of the kernel.
type bpfDoctor struct{ *doctor }

func (d bpfDoctor) tracepoint() Check {
	return d.load(Fail, "4.7", &ebpf.ProgramSpec{Type: ebpf.TracePoint})
}

func (d bpfDoctor) rawTracepoint() Check {
	loads := d.load(Warn, "4.17", &ebpf.ProgramSpec{Type: ebpf.RawTracepoint})
	return delivers(loads, d.try.program, "it is attached and does not run", "use --engine perf")
}

func (d bpfDoctor) typedTracepoint() Check {
	return d.load(Warn, "5.5", &ebpf.ProgramSpec{
		Type:       ebpf.Tracing,
		AttachType: ebpf.AttachTraceRawTp,
		AttachTo:   "sched_switch",
	})
}

func (d bpfDoctor) fentry() Check {
	return d.load(Warn, "5.5", &ebpf.ProgramSpec{
		Type:       ebpf.Tracing,
		AttachType: ebpf.AttachTraceFEntry,
		AttachTo:   "wake_up_new_task",
	})
}

// load loads a program that returns 0. missing is the status if the kernel does
// not have the type; since names the first version that has it.
func (d bpfDoctor) load(missing Status, since string, spec *ebpf.ProgramSpec) Check {
	if spec.AttachTo != "" && !d.BTF {
		return warn("needs BTF", "use a kernel with CONFIG_DEBUG_INFO_BTF")
	}
	spec.Name = "ppscript_doctor"
	spec.License = "GPL"
	spec.Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
	prog, err := ebpf.NewProgram(spec)
	if err == nil {
		err = prog.Close()
		if err != nil {
			return unsure(err.Error(), "")
		}
		return ok("a program loads")
	}
	return d.refused(missing, since, err)
}

func (d bpfDoctor) ringBuffer() Check {
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Name:       "ppscript_doctor",
		Type:       ebpf.RingBuf,
		MaxEntries: uint32(d.PageBytes),
	})
	if err == nil {
		if err = m.Close(); err != nil {
			return unsure(err.Error(), "")
		}
		return ok("a map can be made")
	}
	if errors.Is(err, unix.EINVAL) {
		err = ebpf.ErrNotSupported // the kernel's answer for a map type that it does not know
	}
	return d.refused(Warn, "5.8", err)
}

func (d bpfDoctor) refused(missing Status, since string, err error) Check {
	switch {
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, unix.ENOSYS):
		return Check{
			Status: missing,
			Detail: "not in this kernel",
			Fix:    "use Linux " + since + " or newer, with CONFIG_BPF_EVENTS",
		}
	case !denied(err):
		return unsure(err.Error(), "")
	case d.Caps.CanBPF():
		return Check{
			Status: missing,
			Detail: "refused although the capabilities suffice: lockdown, a security module, or locked memory",
			Fix:    "look at: cat /sys/kernel/security/lockdown /sys/kernel/security/lsm; ulimit -l",
		}
	}
	detail := "not allowed to this user"
	if s := d.Settings.UnprivilegedBPFDisabled; s.readable() {
		detail += fmt.Sprintf(" (unprivileged_bpf_disabled is %d)", s.Value)
	}
	caps := "cap_bpf,cap_perfmon"
	if d.traceCap() == CapSysAdmin {
		caps = CapSysAdmin.String()
	}
	return fail(detail, d.grant(caps))
}
