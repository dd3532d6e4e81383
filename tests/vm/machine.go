package vm

import (
	"context"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
)

// This file has the differences between the machines that qemu emulates.

// A machine has the emulator, compiler and options for guests of one
// architecture.
type machine struct {
	arch      string // its name in Debian and Go
	qemu, pkg string // the emulator and the package that has it
	cc        string // compiles C for it
	args      []string
	append    string // words for the kernel's command line
	delivers  string // needs that its guests meet, for PPSCRIPT_REQUIRE
}

// delivered are the needs that every guest meets, by their names in testkit.
const delivered = "root,tracefs,tracepoints,samples,uprobes,kprobes,breakpoints"

var machines = []machine{
	// Without tsc=reliable a guest with two CPUs up to 6.1 distrusts its TSC
	// and reads time from a slow device.
	{"amd64", "qemu-system-x86_64", "qemu-system-x86", "x86_64-linux-gnu-gcc", []string{"-machine", "q35", "-cpu", "max"},
		"console=ttyS0 tsc=reliable no_timer_check ", delivered},
	// mitigations=off alone keeps the page tables of kernel and user separate,
	// which makes system calls and the PMU's interrupts ten times as slow,
	// hence kpti=off.
	{"arm64", "qemu-system-aarch64", "qemu-system-arm", "aarch64-linux-gnu-gcc", []string{"-machine", "virt", "-cpu", "cortex-a57"},
		"console=ttyAMA0 kpti=off ", delivered + ",counters"},
}

// bootWords are words for every kernel's command line.
const bootWords = "quiet panic=-1 mitigations=off random.trust_cpu=on "

// machineOf returns the machine of an architecture; amd64 is the default.
func machineOf(arch string) machine {
	for _, m := range machines {
		if m.arch == arch {
			return m
		}
	}
	return machines[0]
}

func (g Guest) machine() machine { return machineOf(g.Arch) }

// foreign reports whether programs of this machine cannot run in the guest.
func (m machine) foreign() bool { return m.arch != runtime.GOARCH }

var qemuVersion = regexp.MustCompile(`version (\d+)\.`)

// accel returns the option for one host thread for all CPUs of the guest,
// unless qemu is 10 or newer. In 7.2 a CPU goes on running stale code after
// another one has patched the kernel's text, so enabling a tracepoint hangs or
// panics the guest.
func (m machine) accel(ctx context.Context, g Guest) string {
	text, _ := exec.CommandContext(ctx, m.qemu, "--version").Output()
	if v := qemuVersion.FindSubmatch(text); v != nil && !g.CountInsns {
		if major, err := strconv.Atoi(string(v[1])); err == nil && major >= 10 {
			return "tcg,thread=multi"
		}
	}
	return "tcg,thread=single"
}
