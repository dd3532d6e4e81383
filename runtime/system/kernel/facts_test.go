package kernel

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		v, err := ParseVersion(in)
		if err != nil || v.String() != want || v.Release != in {
			t.Errorf("ParseVersion(%q): got %v %q, %v, want %s", in, v, v.Release, err, want)
		}
	}
	f("6.18.44-xy-v657", "6.18.44")
	f("6.1.0-50-cloud-amd64", "6.1.0")
	f("4.18.0-553.el8_10.x86_64", "4.18.0")
	f("5.10", "5.10.0")
	f("7.2-rc3", "7.2.0")
	f("6.6.87.2-microsoft-standard-WSL2", "6.6.87")
	for _, bad := range []string{"", "6", "x.y", "6.", ".6", "6-1"} {
		if v, err := ParseVersion(bad); err == nil {
			t.Errorf("ParseVersion(%q): got %v, want an error", bad, v)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	v := func(s string) Version {
		v, err := ParseVersion(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if !v("6.1.0").AtLeast(5, 18) || v("5.10.9").AtLeast(5, 11) || !v("5.10.1-x").AtLeast(5, 10) {
		t.Error("AtLeast compares wrongly")
	}
	if v("6.1.2").Compare(v("6.1.10")) >= 0 || v("6.1.2-a").Compare(v("6.1.2-b")) != 0 ||
		v("10.0").Compare(v("9.9")) <= 0 {
		t.Error("Compare compares wrongly")
	}
}

// fixture is a machine of files: a small KVM guest with mixed cgroups.
func fixture(t *testing.T) Roots {
	t.Helper()
	proc, sys := t.TempDir(), t.TempDir()
	write(t, proc, "sys/kernel/osrelease", "6.1.0-50-cloud-amd64\n")
	write(t, proc, "sys/kernel/perf_event_paranoid", "-1\n")
	write(t, proc, "sys/kernel/perf_event_mlock_kb", "516\n")
	write(t, proc, "sys/kernel/kptr_restrict", "x\n")
	write(t, proc, "self/status", "Name:\tx\nCapPrm:\t000000c000004000\nCapEff:\t0000000000000000\n")
	write(t, proc, "self/limits",
		"Limit                     Soft Limit           Hard Limit           Units\n"+
			"Max open files            1024                 20000                files\n"+
			"Max locked memory         8388608              unlimited            bytes\n")
	write(t, proc, "self/mountinfo", strings.Join([]string{
		"42 23 0:13 / /sys/kernel/debug/tracing rw,relatime - tracefs none rw",
		"43 23 0:13 / /sys/kernel/tracing rw,relatime shared:7 - tracefs none rw",
		`44 23 0:14 / /mnt/a\040b rw - cgroup2 cgroup2 rw`,
		"45 23 0:15 / /sys/fs/cgroup/perf_event rw,relatime - cgroup cgroup rw,perf_event",
		"46 23 0:16 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct",
		"47 23 0:17 / /sys/fs/cgroup/systemd rw,relatime - cgroup none rw,xattr,name=systemd",
		"garbage"}, "\n"))
	write(t, proc, "cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n")
	for name, list := range map[string]string{"online": "0-1", "present": "0-1", "possible": "0-3"} {
		write(t, sys, "devices/system/cpu/"+name, list)
	}
	write(t, sys, "devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
	write(t, sys, "devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock \n")
	write(t, sys, "bus/event_source/devices/uprobe/type", "7\n")
	write(t, sys, "bus/event_source/devices/cpu/type", "4\n")
	write(t, sys, "kernel/btf/vmlinux", "x")
	write(t, sys, "kernel/security/lockdown", "none [integrity] confidentiality\n")
	return Roots{Proc: proc, Sys: sys}
}

func TestReadFacts(t *testing.T) {
	f, err := read(fixture(t))
	if err != nil {
		t.Fatal(err)
	}
	eq := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	eq("version", f.Version.String(), "6.1.0")
	eq("online", FormatCPUList(f.CPUs.Online), "0-1")
	eq("possible", FormatCPUList(f.CPUs.Possible), "0-3")
	eq("perfmon", f.Caps.Has(CapPerfmon), true)
	eq("bpf", f.Caps.Has(CapBPF), true)
	eq("ipc_lock", f.Caps.Has(CapIPCLock), true)
	eq("sys_admin", f.Caps.Has(CapSysAdmin), false)
	eq("can trace", f.Caps.CanTrace(), true)
	eq("open files", f.Limits.OpenFiles, limit{1024, 20000})
	eq("locked", f.Limits.LockedBytes, limit{8 << 20, unlimited})
	eq("PMUs", len(f.PMUs), 2)
	p, ok := FindPMU(f.PMUs, "uprobe")
	eq("uprobe", p, PMU{"uprobe", 7})
	eq("uprobe found", ok, true)
	eq("cpu PMU", HasCPU(f.PMUs), true)
	eq("tracefs", f.Mounts.Tracefs, "/sys/kernel/tracing")
	eq("cgroup2", f.Mounts.Cgroup2, "/mnt/a b")
	eq("perf cgroup", f.Mounts.PerfCgroup(), "/sys/fs/cgroup/perf_event")
	eq("cpu cgroup", f.Mounts.CPUV1, "/sys/fs/cgroup/cpu")
	eq("other cgroups", strings.Join(f.Mounts.OthersV1, " "), "/sys/fs/cgroup/systemd /sys/fs/cgroup/cpu")
	eq("paranoid", f.Settings.PerfEventParanoid, setting{Value: -1})
	eq("mlock", f.Settings.PerfEventMlockKB, setting{Value: 516})
	eq("kptr known", f.Settings.KptrRestrict.readable(), false)
	eq("stack missing", errors.Is(f.Settings.PerfEventMaxStack.Err, fs.ErrNotExist), true)
	eq("BTF", f.BTF, true)
	eq("hypervisor", f.Hypervisor, "kvm")
	eq("lockdown", f.Lockdown, "integrity")
	eq("clock", f.Clock, "tsc")
}

func TestReadFactsMissing(t *testing.T) {
	dir := t.TempDir()
	f, err := read(Roots{Proc: dir, Sys: dir})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want not exist", err)
	}
	if f.PageBytes == 0 || f.BTF || f.Lockdown != "" || f.Hypervisor != "" ||
		f.Settings.PerfEventParanoid.readable() {
		t.Errorf("got %+v from nothing", f)
	}
}

func TestHypervisorByFlag(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "cpuinfo", "flags\t: fpu hypervisor\n")
	if got := hypervisor(Roots{Proc: dir, Sys: dir}); got != "guest" {
		t.Errorf("got %q, want guest", got)
	}
	write(t, dir, "cpuinfo", "flags\t: fpu nothypervisor\n")
	if got := hypervisor(Roots{Proc: dir, Sys: dir}); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

func TestLimitErrors(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{
		"", "Max open files 1", "Max open files x y files\nMax locked memory 1 1",
		"Max open files 1 1 files",
	} {
		write(t, dir, "self/limits", text)
		if l, err := readLimits(Roots{Proc: dir}); err == nil {
			t.Errorf("%q: got %v, want an error", text, l)
		}
	}
}

// The running machine must answer every question that does not depend on it.
func TestReadHere(t *testing.T) {
	needsSysfs(t)
	f, err := read(Roots{})
	if err != nil {
		t.Fatal(err)
	}
	if f.Version.Major < 3 || len(f.CPUs.Online) == 0 || f.Limits.OpenFiles.Soft == 0 {
		t.Errorf("got %+v", f)
	}
	if _, ok := FindPMU(f.PMUs, "software"); !ok {
		t.Errorf("no software PMU in %v", f.PMUs)
	}
}
