package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"ppscript/runtime/system/privilege"
)

func byName(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %v", name, checks)
	return Check{}
}

// TestDoctorHere checks that on every machine and for every user, each check has a name, says
// something, and offers a way out when the answer is no.
func TestDoctorHere(t *testing.T) {
	checks := Doctor(context.Background(), DoctorOptions{})
	seen := map[string]bool{}
	for _, c := range checks {
		t.Logf("%-22s %-7v %s | %s", c.Name, c.Status, c.Detail, c.Fix)
		if c.Name == "" || c.Detail == "" || seen[c.Name] {
			t.Errorf("%+v: without name or detail, or twice", c)
		}
		seen[c.Name] = true
		if (c.Status == Fail || c.Status == Warn) && c.Fix == "" {
			t.Errorf("%s: %v without a fix", c.Name, c.Status)
		}
		if c.Status == OK && c.Fix != "" {
			t.Errorf("%s: ok with a fix %q", c.Name, c.Fix)
		}
		if strings.Contains(c.Detail+c.Fix, "%!") || strings.Contains(c.Detail, "\n") {
			t.Errorf("%s: badly formatted: %q %q", c.Name, c.Detail, c.Fix)
		}
	}
	if got := byName(t, checks, "kernel").Status; got == Unknown {
		t.Errorf("kernel: got %v", got)
	}
	if os.Geteuid() == 0 {
		if got := byName(t, checks, "software events"); got.Status == Fail {
			t.Errorf("software events as root: got %+v", got)
		}
	}
}

func TestDoctorCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range Doctor(ctx, DoctorOptions{}) {
		if c.Status != Unknown || !strings.Contains(c.Detail, "canceled") {
			t.Errorf("got %+v, want unknown", c)
		}
	}
}

func TestDoctorTracefsMissing(t *testing.T) {
	checks := Doctor(context.Background(), DoctorOptions{Tracefs: func() (string, error) {
		return "", errors.New("not mounted")
	}})
	c := byName(t, checks, "tracefs")
	if c.Status != Fail || !strings.Contains(c.Fix, "mount -t tracefs tracefs /sys/kernel/tracing") {
		t.Errorf("tracefs: got %+v", c)
	}
	if c := byName(t, checks, "tracepoint events"); c.Status != Unknown {
		t.Errorf("tracepoint events: got %+v, want unknown", c)
	}
	// One that is mounted, and that this user may not read, needs no mount.
	denied := fmt.Errorf("read /sys/kernel/tracing: %w", unix.EACCES)
	d := &doctor{opts: DoctorOptions{
		Program: "/bin/ppscript",
		Tracefs: func() (string, error) { return "", denied },
	}}
	for _, c := range []Check{d.tracefs(), d.tracepoint()} {
		if strings.Contains(c.Fix, "mount") || !strings.Contains(c.Fix, "setcap") {
			t.Errorf("tracefs that may not be read: got fix %q, want permission", c.Fix)
		}
		if strings.Count(c.Fix, "run as root") != 1 {
			t.Errorf("tracefs that may not be read: got fix %q, want one advice", c.Fix)
		}
	}
}

// An ordinary user on a machine of fixtures; checks that really open events are left out.
func TestDoctorOrdinaryUser(t *testing.T) {
	r := fixture(t)
	write(t, r.Proc, "self/status", "CapPrm:\t0000000000000000\n")
	write(t, r.Proc, "sys/kernel/perf_event_paranoid", "3\n")
	write(t, r.Proc, "sys/kernel/kptr_restrict", "0\n")
	write(t, r.Proc, "sys/kernel/unprivileged_bpf_disabled", "2\n")
	write(t, r.Proc, "kallsyms", "0000000000000000 A fixed\n0000000000000000 T startup\n")
	facts, _ := read(r)
	d := &doctor{Facts: facts, opts: DoctorOptions{Roots: r, Program: "/bin/ppscript"}}
	check := func(got Check, status Status, detail, fix string) {
		t.Helper()
		if got.Status != status || !strings.Contains(got.Detail, detail) || got.Fix != fix {
			t.Errorf("got %v %q fix %q, want %v %q fix %q", got.Status, got.Detail, got.Fix, status,
				detail, fix)
		}
	}
	setcap := func(caps string) string { return privilege.Advice(caps, "/bin/ppscript") }
	check(d.capabilities(), Warn, "none",
		setcap("cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog,cap_dac_read_search"))
	check(d.paranoid(), Warn, "3: ordinary users may trace nothing",
		"sudo sysctl kernel.perf_event_paranoid=-1")
	check(d.symbols(), Warn, "hidden", setcap("cap_syslog"))
	check(d.lockdown(), Warn, "integrity", "boot with lockdown=none, or switch off Secure Boot")
	check(d.kprobes(), Warn, "none",
		"use a kernel with CONFIG_KPROBE_EVENTS; tracepoints and uprobes work without")
	check(d.uprobes(), OK, "uprobe", "")
	refused := func() Trial { return Trial{Err: unix.EACCES} }
	d.try.uprobe, d.try.kprobe = refused, refused
	check(d.uprobes(), Warn, "may not use", setcap("cap_sys_admin"))
	check(d.fires("kprobe", d.traceCap(), d.try.kprobe), Warn, "may not use", setcap("cap_perfmon"))
	check(d.cgroups(), OK, "/sys/fs/cgroup/perf_event (version 1)", "")
	check((bpfDoctor{d}).refused(Warn, "5.5", unix.EPERM), Fail, "unprivileged_bpf_disabled is 2",
		setcap("cap_bpf,cap_perfmon"))
	check((bpfDoctor{d}).refused(Warn, "5.5", ebpf.ErrNotSupported), Warn, "not in this kernel",
		"use Linux 5.5 or newer, with CONFIG_BPF_EVENTS")
	check((bpfDoctor{d}).refused(Warn, "5.5", unix.ENOMEM), Unknown, "memory", "")

	d.Version = Version{Major: 5, Minor: 4, Release: "5.4.0"}
	check((bpfDoctor{d}).refused(Warn, "5.5", unix.EPERM), Fail, "not allowed", setcap("cap_sys_admin"))
	check(d.kernel(), Warn, "older", "use Linux 5.10 or newer")
	d.Limits.OpenFiles = limit{64, 64}
	check(d.openFiles(), Warn, "64;", "ulimit -Hn 192 as root, or LimitNOFILE=192 in the service")
	write(t, r.Proc, "kallsyms", "0000000000000000 A fixed\nffffffff81000000 T startup\n")
	check(d.symbols(), OK, "readable", "")
}

func TestDoctorTracefsUnreadable(t *testing.T) {
	dir := t.TempDir()
	d := &doctor{opts: DoctorOptions{Tracefs: func() (string, error) { return dir, nil }}}
	if c := d.tracefs(); c.Status != Fail || c.Fix == "" {
		t.Errorf("empty directory: got %+v", c)
	}
	if err := os.MkdirAll(filepath.Join(dir, "events"), 0o755); err != nil {
		t.Fatal(err)
	}
	if c := d.tracefs(); c.Status != OK || c.Detail != dir {
		t.Errorf("got %+v", c)
	}
	if c := d.tracepoint(); c.Status != Unknown {
		t.Errorf("no id file: got %+v", c)
	}
}
