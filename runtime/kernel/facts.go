package kernel

import (
	"errors"
	"os"
)

// Facts is what the kernel's files say, read together at one time.
type Facts struct {
	Version    Version
	CPUs       CPUs
	PageBytes  int
	Caps       Caps
	Limits     Limits
	PMUs       []PMU
	Mounts     Mounts
	Settings   Settings
	BTF        bool // /sys/kernel/btf/vmlinux is there
	Hypervisor string
	Lockdown   string
	Clock      string // the clocksource
}

// Settings are the sysctls that tracing depends on. Debian adds a level 3 to
// perf_event_paranoid: nothing at all for ordinary users.
type Settings struct {
	PerfEventParanoid       Setting // -1 all, 0, 1, 2 own processes in user space, 3 nothing
	PerfEventMaxSampleRate  Setting // Hz; the kernel lowers it by itself under load
	PerfEventMlockKB        Setting // of rings, for each user and CPU, beside RLIMIT_MEMLOCK
	PerfEventMaxStack       Setting // frames in a callchain
	KptrRestrict            Setting // 0 addresses for CAP_SYSLOG or low paranoid levels, 1 for CAP_SYSLOG, 2 for nobody
	UnprivilegedBPFDisabled Setting // 0 no, 1 yes until reboot, 2 yes
}

// Read reads all facts. If some files cannot be read, the other facts are
// set all the same; err joins the errors.
func Read(r Roots) (Facts, error) {
	var errs [6]error
	f := Facts{
		PageBytes:  os.Getpagesize(),
		Settings:   ReadSettings(r),
		BTF:        HasBTF(r),
		Hypervisor: Hypervisor(r),
		Lockdown:   Lockdown(r),
		Clock:      Clocksource(r),
	}
	f.Version, errs[0] = ReadVersion(r)
	f.CPUs, errs[1] = ReadCPUs(r)
	f.Caps, errs[2] = ReadCaps(r)
	f.Limits, errs[3] = ReadLimits(r)
	f.PMUs, errs[4] = ReadPMUs(r)
	f.Mounts, errs[5] = ReadMounts(r)
	return f, errors.Join(errs[:]...)
}

// ReadSettings reads the sysctls. Each has its own error.
func ReadSettings(r Roots) Settings {
	read := func(name string) Setting { return readSetting(r.ProcPath("sys/kernel", name)) }
	return Settings{
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
