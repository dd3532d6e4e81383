package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// requireEnv is a variable that turns missing needs into errors instead of
// skips, so that no test is skipped on every machine: "1" means the needs that
// CI meets, otherwise it lists needs, separated by commas. CI sets it on
// machines that can trace; tests/vm sets it in guests, for needs that other
// machines may lack.
const requireEnv = "PPSCRIPT_REQUIRE"

// A Need is a program, privilege or feature that a test requires.
type Need struct {
	name string
	core bool // CI meets it: .ci/run installs it, or it is a property of CI's machine
	// missing returns the missing part of the need, "" if nothing is missing.
	missing func() string
}

// The needs of tests.
var (
	Root    = Need{"root", true, missingRoot}
	Tracefs = Need{"tracefs", true, missingTracefs}
	Sysfs   = Need{"sysfs", true, missingFile("/sys/kernel", "mount -t sysfs sysfs /sys")}
	BTF     = Need{
		"the kernel's types", false,
		missingFile("/sys/kernel/btf/vmlinux", "a kernel with CONFIG_DEBUG_INFO_BTF"),
	}
	// TSC is the need of the event msr/tsc, the CPU's time stamp counter.
	TSC = Need{
		"the PMU msr", false,
		missingFile("/sys/bus/event_source/devices/msr/events/tsc", "a kernel for x86 with CONFIG_PERF_EVENTS_MSR"),
	}
	cpu0     = Need{"CPU 0", true, missingCPU(0)}
	CPU1     = Need{"CPU 1", false, missingCPU(1)}
	Perf     = program("perf", "linux-perf", true)
	Fio      = program("fio", "fio", true)
	Strace   = program("strace", "strace", true)
	Bpftrace = program("bpftrace", "bpftrace", true)
	GCC      = program("gcc", "gcc", true)
	GXX      = program("g++", "g++", true)
	Binutils = program("objdump", "binutils", true) // also for nm, readelf, objcopy, strip and addr2line
	XZ       = program("xz", "xz-utils", true)
	Dwz      = program("dwz", "dwz", false)
	Clang    = program("clang", "clang", false)
	GDB      = program("gdb", "gdb", true)
	Taskset  = program("taskset", "util-linux", true)
	Git      = program("git", "git", true)
	Pgrep    = program("pgrep", "procps", false)
	Losetup  = program("losetup", "mount", true)
	Podman   = program("podman", "podman", false)
	IP       = installed("ip", "iproute2", true)
	Mke2fs   = installed("mke2fs", "e2fsprogs", true)
	Tmux     = installed("tmux", "tmux", true)
	// SystemdAnalyze is the need of systemd's program that checks units.
	SystemdAnalyze = program("systemd-analyze", "systemd", true)
	Go             = Need{"go", true, missingGo}
	Rustc          = program("rustc", "rustc", false)
	Python         = Need{
		"/usr/bin/python3.11", false,
		missingFile("/usr/bin/python3.11", "apt-get install python3.11-minimal"),
	}
	SQLite    = program("sqlite3", "sqlite3", true)
	SSH       = Need{"ssh", true, missingFile("/usr/bin/ssh", "apt-get install openssh-client")}
	SSHServer = Need{"sshd", true, missingFile("/usr/sbin/sshd", "apt-get install openssh-server")}
)

// Long is the need of a test that takes seconds or uses other programs: `make test`, which runs
// with -short, leaves it to `make test-all`.
var Long = Need{"time", false, func() string {
	if testing.Short() {
		return "make test-all"
	}
	return ""
}}

// Plain is the need of a test binary without the race detector, which needs libc and makes code ten
// times as slow.
var Plain = Need{"a binary without the race detector", false, func() string {
	if race {
		return "make test"
	}
	return ""
}}

// Live are the needs of every test on real events.
var Live = []Need{Root, Tracefs, cpu0, tracepoints}

// Requires skips the test if needs are missing, and names them. It fails the
// test if PPSCRIPT_REQUIRE requires a missing need.
func Requires(t testing.TB, needs ...Need) {
	t.Helper()
	if have, err := Have(needs...); err != nil {
		t.Fatal(err)
	} else if !have {
		missing, _ := lacking(needs, "")
		t.Skipf("needs %s", strings.Join(missing, "; "))
	}
}

// Program returns the need of a program by its name, for scripts of commands.
func Program(name string) Need {
	for _, n := range []Need{Perf, Strace, Bpftrace, GCC, GXX, Binutils, XZ, Taskset, Git, Go} {
		if n.name == name {
			return n
		}
	}
	return program(name, name, true)
}

// Have reports whether all needs are met. It is an error if PPSCRIPT_REQUIRE
// requires a missing need.
func Have(needs ...Need) (bool, error) {
	required := os.Getenv(requireEnv)
	missing, must := lacking(needs, required)
	if must {
		return false, fmt.Errorf("%s=%s, and this machine lacks: %s", requireEnv, required,
			strings.Join(missing, "; "))
	}
	return len(missing) == 0, nil
}

// Lacks reports whether a need is missing, for tests that expect another result then.
func Lacks(needs ...Need) bool {
	missing, _ := lacking(needs, "")
	return len(missing) > 0
}

// Core makes a need from the result of a test's own check, for things that
// every development machine has: err says what is missing.
func Core(name string, err error) Need { return found(name, true, err) }

// Optional makes a need for things that only some machines have: a PMU, KVM, an
// option of the kernel. A test with it may be skipped anywhere.
func Optional(name string, err error) Need { return found(name, false, err) }

func found(name string, core bool, err error) Need {
	return Need{name, core, func() string {
		if err == nil {
			return ""
		}
		return err.Error()
	}}
}

// lacking returns the missing needs; must reports whether one of them is
// required: with "1" those that CI meets, otherwise those in a list of names.
func lacking(needs []Need, required string) (missing []string, must bool) {
	for _, n := range needs {
		if why := n.missing(); why != "" {
			missing = append(missing, n.name+" ("+why+")")
			must = must || n.core && required == "1" || slices.Contains(strings.Split(required, ","), n.name)
		}
	}
	return missing, must
}

func missingRoot() string {
	if os.Geteuid() != 0 {
		return "run as root"
	}
	return ""
}

func missingTracefs() string {
	if _, err := os.ReadFile("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"); err != nil {
		return "mount -t tracefs tracefs /sys/kernel/tracing"
	}
	return ""
}

func missingFile(path, remedy string) func() string {
	return func() string {
		if _, err := os.Stat(path); err != nil {
			return remedy
		}
		return ""
	}
}

func missingCPU(cpu int) func() string {
	return func() string {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil || !set.IsSet(cpu) {
			return "this process may not run on it"
		}
		return ""
	}
}

// program makes the need of a program that runs: some distributions have a perf
// that only names the missing package.
func program(name, pkg string, core bool) Need {
	return Need{name, core, func() string {
		// The time limit is for a program that never ends; a busy machine takes
		// seconds to load one.
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		err := exec.CommandContext(ctx, name, "--version").Run()
		if errors.Is(err, exec.ErrNotFound) {
			return "apt-get install " + pkg
		} else if err != nil {
			return name + " --version: " + err.Error()
		}
		return ""
	}}
}

// installed makes the need of a program that has no option --version.
func installed(name, pkg string, core bool) Need {
	return Need{name, core, func() string {
		if _, err := exec.LookPath(name); err != nil {
			return "apt-get install " + pkg
		}
		return ""
	}}
}

func missingGo() string {
	if err := exec.Command("go", "env", "GOROOT").Run(); err != nil {
		return "the go command in PATH: " + err.Error()
	}
	return ""
}

// AMD64 skips tests that use the numbers of system calls.
var AMD64 = Need{"amd64", false, func() string {
	if runtime.GOARCH != "amd64" {
		return "this is " + runtime.GOARCH
	}
	return ""
}}
