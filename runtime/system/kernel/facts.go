package kernel

import (
	"errors"
	"os"
)

// Facts are read from the kernel's files, together at one time.
type Facts struct {
	Version    Version
	CPUs       CPUs
	PageBytes  int
	Caps       Caps
	Limits     limits
	PMUs       []PMU
	Mounts     Mounts
	Settings   settings
	BTF        bool // /sys/kernel/btf/vmlinux is there
	Hypervisor string
	Lockdown   string
	Clock      string // the clocksource
}

// settings are the sysctls that tracing depends on. Debian adds a level 3 to
// perf_event_paranoid: nothing at all for ordinary users.
type settings struct {
	PerfEventParanoid       setting // -1 all, 0, 1, 2 own processes in user space, 3 nothing
	PerfEventMaxSampleRate  setting // Hz; the kernel lowers it by itself under load
	PerfEventMlockKB        setting // of rings, for each user and CPU, beside RLIMIT_MEMLOCK
	PerfEventMaxStack       setting // frames in a callchain
	KptrRestrict            setting // readers of addresses: 0 depends on paranoid, 1 CAP_SYSLOG, 2 nobody
	UnprivilegedBPFDisabled setting // 0 no, 1 yes until reboot, 2 yes
}

// read reads all facts. If some files cannot be read, the other facts are
// set all the same; err joins the errors.
func read(r Roots) (Facts, error) {
	var errs [6]error
	f := Facts{
		PageBytes:  os.Getpagesize(),
		Settings:   readSettings(r),
		BTF:        HasBTF(r),
		Hypervisor: hypervisor(r),
		Lockdown:   lockdown(r),
		Clock:      clocksource(r),
	}
	f.Version, errs[0] = ReadVersion(r)
	f.CPUs, errs[1] = ReadCPUs(r)
	f.Caps, errs[2] = ReadCaps(r)
	f.Limits, errs[3] = readLimits(r)
	f.PMUs, errs[4] = ReadPMUs(r)
	f.Mounts, errs[5] = ReadMounts(r)
	return f, errors.Join(errs[:]...)
}

// readSettings reads the sysctls. Each has its own error.
func readSettings(r Roots) settings {
	read := func(name string) setting { return readSetting(r.ProcPath("sys/kernel", name)) }
	return settings{
		PerfEventParanoid:       read("perf_event_paranoid"),
		PerfEventMaxSampleRate:  read("perf_event_max_sample_rate"),
		PerfEventMlockKB:        read("perf_event_mlock_kb"),
		PerfEventMaxStack:       read("perf_event_max_stack"),
		KptrRestrict:            read("kptr_restrict"),
		UnprivilegedBPFDisabled: read("unprivileged_bpf_disabled"),
	}
}

// HasBTF reports whether the kernel describes its types.
func HasBTF(r Roots) bool {
	_, err := os.Stat(r.SysPath("kernel/btf/vmlinux"))
	return err == nil
}
