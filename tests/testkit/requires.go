package testkit

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// requireEnv makes needs of the core errors rather than skips. CI sets it on
// machines that can trace, so that no test is skipped on every machine.
const requireEnv = "PPSCRIPT_REQUIRE"

// A Need is something that a test cannot do without.
type Need struct {
	name string
	core bool // every machine for development has it
	// missing says what is not there, "" if all is.
	missing func() string
}

// What tests need. Perf is the command; Tracepoints is the kernel's side.
var (
	Root     = Need{"root", true, missingRoot}
	Tracefs  = Need{"tracefs", true, missingTracefs}
	CPU0     = Need{"CPU 0", true, missingCPU(0)}
	CPU1     = Need{"CPU 1", false, missingCPU(1)}
	Perf     = program("perf", "linux-perf", true)
	Strace   = program("strace", "strace", true)
	Bpftrace = program("bpftrace", "bpftrace", false)
)

// Live is what every test on real events needs.
var Live = []Need{Root, Tracefs, CPU0}

// Requires skips the test, naming everything that is missing of needs. With
// PPSCRIPT_REQUIRE=1 missing parts of the core make it fail.
func Requires(t testing.TB, needs ...Need) {
	t.Helper()
	missing, core := lacking(needs)
	switch {
	case len(missing) == 0:
	case core && os.Getenv(requireEnv) == "1":
		t.Fatalf("%s=1, and this machine lacks: %s", requireEnv, strings.Join(missing, "; "))
	default:
		t.Skipf("needs %s", strings.Join(missing, "; "))
	}
}

func lacking(needs []Need) (missing []string, core bool) {
	for _, n := range needs {
		if why := n.missing(); why != "" {
			missing = append(missing, n.name+" ("+why+")")
			core = core || n.core
		}
	}
	return missing, core
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

func missingCPU(cpu int) func() string {
	return func() string {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil || !set.IsSet(cpu) {
			return "this process may not run on it"
		}
		return ""
	}
}

// program is the need of a program that works: some distributions have a perf
// that only says which package is missing.
func program(name, pkg string, core bool) Need {
	return Need{name, core, func() string {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
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

// AMD64 skips tests that know system calls by their number.
var AMD64 = Need{"amd64", false, func() string {
	if runtime.GOARCH != "amd64" {
		return "this is " + runtime.GOARCH
	}
	return ""
}}
