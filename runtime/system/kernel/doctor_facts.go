package kernel

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/unit"
)

// This file has the checks that only read files. The checks that try something
// are in the other doctor_*.go.

func (d *doctor) kernel() Check {
	switch v := d.Version; {
	case v.Major == 0:
		return unsure("the release cannot be read", "mount -t proc proc /proc")
	case !v.AtLeast(5, 10):
		return warn(v.Release+"; older than what ppscript is tested on", "use Linux 5.10 or newer")
	default:
		return ok(v.Release)
	}
}

func (d *doctor) machine() Check {
	where := "no hypervisor seen"
	if d.Hypervisor != "" {
		where = "guest of " + d.Hypervisor
	}
	if d.Clock == "" {
		return unsure(where+"; the clocksource cannot be read", "")
	}
	detail := where + "; clocksource " + d.Clock
	// Reading one of these clocks takes about a microsecond, at each event.
	if d.Clock == "hpet" || d.Clock == "acpi_pm" || d.Clock == "jiffies" {
		return warn(detail+" is slow to read, so every event costs more",
			"boot with tsc=reliable if the machine's TSC is sound")
	}
	return ok(detail)
}

func (d *doctor) cpus() Check {
	if len(d.CPUs.Online) == 0 {
		return unsure("the list of CPUs cannot be read", "mount -t sysfs sysfs /sys")
	}
	detail := "online: " + FormatCPUList(d.CPUs.Online)
	if n := len(d.CPUs.Present) - len(d.CPUs.Online); n > 0 {
		detail += fmt.Sprintf("; %d present but offline", n)
	}
	return ok(detail)
}

// relevantCaps are the capabilities to list, in the order of their use here.
var relevantCaps = []Cap{
	CapSysAdmin, CapPerfmon, CapBPF, CapSysPtrace, CapSyslog, CapDACReadSearch, CapIPCLock, CapSysResource,
}

func (d *doctor) capabilities() Check {
	if _, err := ReadCaps(d.opts.Roots); err != nil {
		return unsure(err.Error(), "")
	}
	detail := "none that tracing uses"
	if have := d.haves(); len(have) > 0 {
		detail = strings.Join(have, " ")
	}
	if privilege.OpenToAll(d.opts.Program) {
		return warn(detail+"; every user of this machine has them, who can execute "+d.opts.Program,
			"sudo sh -c '"+privilege.Restrict(d.opts.Program, strings.Join(d.haves(), ","))+"'")
	}
	if d.Caps.CanTrace() && d.Caps.CanBPF() {
		return ok(detail)
	}
	want := "cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog,cap_dac_read_search"
	if d.traceCap() == CapSysAdmin {
		want = "cap_sys_admin,cap_sys_ptrace,cap_syslog,cap_dac_read_search"
	}
	return warn(detail, d.grant(want))
}

// haves are the names of the relevant capabilities that the process has.
func (d *doctor) haves() []string {
	var have []string
	for _, c := range relevantCaps {
		if d.Caps.Has(c) {
			have = append(have, c.String())
		}
	}
	return have
}

func (d *doctor) paranoid() Check {
	s := d.Settings.PerfEventParanoid
	if !s.readable() {
		if errors.Is(s.Err, fs.ErrNotExist) {
			return fail("this kernel has no perf events", "use a kernel with CONFIG_PERF_EVENTS")
		}
		return unsure(s.Err.Error(), "")
	}
	meaning := "ordinary users may trace all processes"
	switch {
	case s.Value >= 3:
		meaning = "ordinary users may trace nothing"
	case s.Value == 2:
		meaning = "ordinary users may trace their own processes, in user space"
	case s.Value == 1:
		meaning = "ordinary users may trace their own processes, no tracepoints"
	case s.Value == 0:
		meaning = "ordinary users may trace all processes, no tracepoints"
	}
	detail := fmt.Sprintf("%d: %s", s.Value, meaning)
	switch {
	case d.Caps.CanTrace():
		return ok(detail + "; " + d.traceCap().String() + " overrides it")
	case s.Value < 0:
		return ok(detail)
	}
	return warn(detail, d.command("sysctl kernel.perf_event_paranoid=-1"))
}

func (d *doctor) lockdown() Check {
	switch d.Lockdown {
	case "":
		if d.Mounts.Securityfs == "" {
			return unsure("securityfs is not mounted",
				d.command("mount -t securityfs securityfs /sys/kernel/security"))
		}
		return ok("this kernel has no lockdown")
	case "none":
		return ok("none")
	}
	return warn(d.Lockdown+": the kernel refuses kprobes or some BPF programs even to root",
		"boot with lockdown=none, or switch off Secure Boot")
}

// mountedTracefs is the mount point of tracefs in mountinfo.
func (d *doctor) mountedTracefs() (string, error) {
	if d.Mounts.Tracefs == "" {
		return "", errors.New("not mounted")
	}
	return d.Mounts.Tracefs, nil
}

func (d *doctor) tracefs() Check {
	dir, err := d.opts.Tracefs()
	if err != nil {
		return fail(err.Error()+"; tracepoints have no names and fields without it", d.tracefsFix(err))
	}
	if _, err := privilege.ReadDir(privilege.Kernel, dir+"/events"); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return fail(dir+": this user may not read it",
				"run as root, or: "+d.command("mount -o remount,mode=755 "+dir))
		}
		return fail(fmt.Sprintf("%s: %v", dir, errors.Unwrap(err)),
			d.command("mount -t tracefs tracefs /sys/kernel/tracing"))
	}
	return ok(dir)
}

// tracefsFix is the command that mounts tracefs or makes it readable.
func (d *doctor) tracefsFix(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return privilege.Advice("cap_perfmon,cap_dac_read_search", d.opts.Program)
	}
	return d.command("mount -t tracefs tracefs /sys/kernel/tracing")
}

func (d *doctor) pmus() Check {
	if len(d.PMUs) == 0 {
		return unsure("the list of PMUs cannot be read", "mount -t sysfs sysfs /sys")
	}
	var names []string
	for _, p := range d.PMUs {
		names = append(names, p.Name)
	}
	return ok(strings.Join(names, " "))
}

func (d *doctor) kprobes() Check {
	if len(d.PMUs) == 0 {
		return unsure("the list of PMUs cannot be read", "")
	}
	if _, ok := FindPMU(d.PMUs, "kprobe"); !ok {
		return warn("this kernel has none", "use a kernel with CONFIG_KPROBE_EVENTS; tracepoints and uprobes work without")
	}
	return d.fires("kprobe", d.traceCap(), d.try.kprobe)
}

func (d *doctor) uprobes() Check {
	if len(d.PMUs) == 0 {
		return unsure("the list of PMUs cannot be read", "")
	}
	if _, ok := FindPMU(d.PMUs, "uprobe"); !ok {
		return warn("this kernel has none", "use a kernel with CONFIG_UPROBE_EVENTS")
	}
	// perf_uprobe_event_init requires it, while perf_kprobe_event_init accepts
	// CAP_PERFMON.
	return d.fires("uprobe", CapSysAdmin, d.try.uprobe)
}

func (d *doctor) sampleRate() Check {
	rate, stack := d.Settings.PerfEventMaxSampleRate, d.Settings.PerfEventMaxStack
	if !rate.readable() {
		return unsure(rate.Err.Error(), "")
	}
	detail := fmt.Sprintf("at most %d Hz", rate.Value)
	if stack.readable() {
		detail += fmt.Sprintf(", callchains of at most %d frames", stack.Value)
	}
	if rate.Value < 5000 {
		return warn(detail+"; the kernel lowers the rate when sampling takes too long",
			d.command("sysctl kernel.perf_event_max_sample_rate=100000"))
	}
	return ok(detail)
}

// filesPerCPU is the number of events that a large session opens on each CPU.
const filesPerCPU = 64

func (d *doctor) openFiles() Check {
	limit := d.Limits.OpenFiles.Hard
	if limit == 0 {
		return unsure("the limit cannot be read", "")
	}
	if limit == unlimited {
		return ok("no limit")
	}
	need := uint64(64 + filesPerCPU*len(d.CPUs.Online))
	detail := fmt.Sprintf("%d; an event takes one for each CPU", limit)
	if limit < need {
		return warn(detail, fmt.Sprintf("ulimit -Hn %d as root, or LimitNOFILE=%[1]d in the service", need))
	}
	return ok(detail)
}

func (d *doctor) symbols() Check {
	shown, err := d.addressesShown()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("no /proc/kallsyms: kernel addresses have no names", "use a kernel with CONFIG_KALLSYMS")
	case err != nil:
		return unsure(err.Error(), "")
	case shown:
		return ok("addresses are readable")
	}
	kptr := d.Settings.KptrRestrict
	detail := "addresses are hidden from this user, so kernel frames have no names"
	if kptr.readable() {
		detail += fmt.Sprintf(" (kptr_restrict is %d)", kptr.Value)
	}
	if d.Caps.Has(CapSyslog) || kptr.readable() && kptr.Value >= 2 {
		return warn(detail, d.command("sysctl kernel.kptr_restrict=1"))
	}
	return warn(detail, d.grant(CapSyslog.String()))
}

// addressesShown reports whether kallsyms has an address other than 0. The
// first symbols of x86 are per-CPU offsets that really are 0, so some hundred
// lines are looked at.
func (d *doctor) addressesShown() (bool, error) {
	f, err := os.Open(d.opts.Roots.ProcPath("kallsyms"))
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; n < 1000 && lines.Scan(); n++ {
		if addr, _, ok := strings.Cut(lines.Text(), " "); ok && strings.Trim(addr, "0") != "" {
			return true, nil
		}
	}
	return false, lines.Err()
}

func (d *doctor) cgroups() Check {
	at, version := d.Mounts.PerfCgroup(), "2"
	if at == "" {
		return warn("no hierarchy that perf events can use",
			d.command("mount -t cgroup2 cgroup2 /sys/fs/cgroup"))
	}
	if d.Mounts.PerfEventV1 != "" {
		version = "1"
	}
	there := ok(fmt.Sprintf("%s (version %s)", at, version))
	if !d.Caps.CanTrace() {
		return there
	}
	return delivers(there, d.try.cgroup, "the kernel does not count by cgroup here",
		"see whether the kernel can with: grep CGROUP_PERF /boot/config-$(uname -r)")
}

func (d *doctor) btf() Check {
	if !d.BTF {
		return warn("the kernel does not describe its types, so BPF programs cannot read its structures", "use a kernel with CONFIG_DEBUG_INFO_BTF")
	}
	size := ""
	if info, err := os.Stat(d.opts.Roots.SysPath("kernel/btf/vmlinux")); err == nil {
		size = ", " + unit.Size(info.Size())
	}
	return ok(d.opts.Roots.SysPath("kernel/btf/vmlinux") + size)
}
