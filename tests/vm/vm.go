// Package vm runs a command in a small emulated guest with a stock Debian
// kernel, for features that a machine may lack (kprobes, real kvm_exit, CPU
// hot-unplug, other kernel versions), and for tests that need root.
//
// A guest is qemu without acceleration, so neither /dev/kvm nor root is needed;
// it boots in two to three seconds. Its root file system is an initramfs of
// busybox and the files given. There is no udev, only one user, and no network
// unless Guest asks for it.
//
//	r := vm.Run(t, vm.Guest{Files: map[string]string{"/w/probe": bin}}, "probe -v")
//	// r.Status, r.Output
//
// Emulation distorts time: tests in guests assert counts and order, never
// latencies.
package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Guest describes the machine. The zero value is one CPU with Linux 6.1.
type Guest struct {
	Arch string // amd64 if empty, or arm64, whose CPU has counters
	// series of the Debian kernel, "6.1" if empty; kernel.sh has the possible ones
	Kernel    string
	CPUs      int               // 1 if zero
	Threads   int               // CPUs of each core, 1 if zero
	MemoryMiB int               // 512 at least
	Modules   []string          // loaded with their dependencies, in this order
	Files     map[string]string // path in the guest to path here; shared libraries of programs are added
	Append    string            // more words for the kernel's command line
	DiskMiB   int               // size of an empty /dev/vda; none if zero
	Disk      string            // an image that is /dev/vda, which the guest changes; none if empty
	// HOST:PORT or unix:PATH here that leads to /dev/vport0p3 there; none if empty
	Port string
	// Network adds an eth0 to the guest, with the address 10.0.2.15. From there this machine is
	// 10.0.2.2: a server at 127.0.0.1 here answers at that address. The guest accepts no
	// connections.
	Network bool
	Timeout time.Duration // from start to power-off on an idle machine, two minutes if zero
	// CountInsns derives the guest's time from its executed instructions, so
	// that its CPU can count them. Rates of samples then mean little.
	CountInsns bool
}

// A Result is the result of the command.
type Result struct {
	Status  int           // the command's exit status
	Output  []byte        // stdout and stderr as they came
	Console []byte        // the kernel's messages
	CPU     time.Duration // CPU time of the emulation on this machine
}

// defaultTimeout is the time limit of a guest without one of its own. Every guest gets twice
// its limit, because other tests at the same time have priority.
const defaultTimeout = 2 * time.Minute

// ErrDied is the error of a guest that ended before the command did.
var ErrDied = errors.New("guest died")

// requireEnv is a variable that makes a guest that cannot be started an error
// rather than a skip. CI sets it, so that no test is skipped on every machine.
const requireEnv = "PPSCRIPT_GUEST"

// Run runs command, a shell script, in a guest and returns its result. The
// command's output is logged too. If guests cannot run here, the test is
// skipped with the missing programs; it fails if the guest dies.
func Run(t testing.TB, g Guest, command string) Result {
	t.Helper()
	unable := t.Skipf
	if os.Getenv(requireEnv) == "require" {
		unable = t.Fatalf
	}
	if missing := Missing(g.Arch); len(missing) > 0 {
		unable("guests need the Debian packages %s", strings.Join(missing, " "))
	}
	if _, err := prepare(t.Context(), g); err != nil {
		unable("%v", err)
	}
	defer room.take(g.sizeMiB())()
	var out bytes.Buffer
	start := time.Now()
	r, err := Boot(t.Context(), g, command, &out)
	t.Logf("guest output, of %v, %v of them on a CPU:\n%s", time.Since(start).Round(time.Second),
		r.CPU.Round(time.Second), out.Bytes())
	if err != nil {
		t.Fatalf("%v; end of the console:\n%s", err, tail(r.Console, 30))
	}
	r.Output = out.Bytes()
	return r
}

func (g Guest) sizeMiB() int { return max(g.MemoryMiB, 512) }

func tail(text []byte, lines int) []byte {
	all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}

type tool struct{ path, pkg string }

// tools are the programs that a guest needs, with their packages.
var tools = []tool{
	{"/bin/busybox", "busybox-static"},
	{"depmod", "kmod"},
	{"xz", "xz-utils"},
	{"zstd", "zstd"},
	{"dpkg-deb", "dpkg"},
	{"apt-get", "apt"},
	{"flock", "util-linux"},
	{"bash", "bash"},
	{"/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"},
}

// Missing returns the Debian packages that guests of an architecture need and
// that are not installed.
func Missing(arch string) []string {
	m := machineOf(arch)
	var missing []string
	for _, tool := range append(slices.Clip(tools), tool{m.qemu, m.pkg}) {
		if !present(tool.path) {
			missing = append(missing, tool.pkg)
		}
	}
	return missing
}

func present(tool string) bool {
	for _, path := range []string{tool, "/sbin/" + tool, "/usr/sbin/" + tool} {
		if strings.HasPrefix(path, "/") {
			if _, err := os.Stat(path); err == nil {
				return true
			}
		} else if _, err := exec.LookPath(path); err == nil {
			return true
		}
	}
	return false
}

func (g Guest) kernel() string {
	if g.Kernel == "" {
		return "6.1"
	}
	return g.Kernel
}

// Boot is Run without a test: it streams the command's output to out.
func Boot(ctx context.Context, g Guest, command string, out io.Writer) (Result, error) {
	kernel, err := prepare(ctx, g)
	if err != nil {
		return Result{}, err
	}
	dir, err := os.MkdirTemp("", "guest") // short: paths of sockets are limited to 108 bytes
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir)
	if err := writeInitramfs(dir+"/initrd", kernel, g, command); err != nil {
		return Result{}, fmt.Errorf("make initramfs: %w", err)
	}
	timeout := g.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	return boot(ctx, g, kernel, dir, out)
}
