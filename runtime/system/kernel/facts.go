package kernel

import (
	"errors"
	"os"
)

// Facts are the facts about the kernel that are read from files, all at one
// time.
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

// settings are the sysctls that tracing depends on. Debian adds level 3 to
// perf_event_paranoid, at which ordinary users can open no events.
type settings struct {
	PerfEventParanoid       setting // -1 allows all, 2 own processes in user space, 3 nothing
	PerfEventMaxSampleRate  setting // Hz; the kernel lowers it under load
	PerfEventMlockKB        setting // rings of each user per CPU, in addition to RLIMIT_MEMLOCK
	PerfEventMaxStack       setting // frames in a callchain
	KptrRestrict            setting // addresses are shown: 0 depends on paranoid, 1 with CAP_SYSLOG, 2 never
	UnprivilegedBPFDisabled setting // 0 no, 1 yes, until reboot, 2 yes, can be changed
}

// read reads all facts. If some files cannot be read, the other facts are still
// set; err joins the errors.
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

// readSettings reads the sysctls; each setting has its own error.
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
