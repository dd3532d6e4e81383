// Package vm runs a command in a small emulated guest with a stock Debian
// kernel: for what the machine at hand cannot do (kprobes, real kvm_exit, CPU
// hot-unplug, other kernel versions), and for tests that need root.
//
// A guest is qemu without acceleration, so neither /dev/kvm nor root is
// needed; it boots in two to three seconds. Its root file system is an
// initramfs of busybox and the files given. There is no udev, one user, and no
// network unless it is asked for.
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
	// series of the Debian kernel, "6.1" if empty; see kernel.sh for those that can be had
	Kernel    string
	CPUs      int               // 1 if zero
	Threads   int               // CPUs of each core, 1 if zero
	MemoryMiB int               // 512 at least
	Modules   []string          // loaded with what they depend on, in this order
	Files     map[string]string // path in the guest to path here; shared libraries of programs come along
	Append    string            // more words for the kernel's command line
	DiskMiB   int               // size of an empty /dev/vda; none if zero
	Disk      string            // an image that is /dev/vda, which the guest changes; none if empty
	// HOST:PORT or unix:PATH here that leads to /dev/vport0p3 there; none if empty
	Port string
	// Network has an eth0 in the guest, 10.0.2.15, from which this machine is 10.0.2.2: what listens to
	// 127.0.0.1 here answers there. Nothing comes in.
	Network bool
	Timeout time.Duration // from start to power-off where nobody else has the CPUs, two minutes if zero
	// CountInsns makes time pass with the instructions that the guest runs, so
	// that its CPU can count them. Rates of samples then mean little.
	CountInsns bool
}

// A Result is what the command left behind.
type Result struct {
	Status  int           // the command's exit status
	Output  []byte        // stdout and stderr as they came
	Console []byte        // the kernel's messages
	CPU     time.Duration // what emulating it took of this machine's CPUs
}

// defaultTimeout is how long a guest may run that does not say. All may take that and as much
// again: other tests beside them come first.
const defaultTimeout = 2 * time.Minute

// ErrDied is the error of a guest that ended before the command did.
var ErrDied = errors.New("guest died")

// requireEnv makes a guest that cannot be started an error rather than a
// skip. CI sets it, so that no test is skipped on every machine.
const requireEnv = "PPSCRIPT_GUEST"

// Run runs command, a piece of shell, in a guest and returns what it did. The
// command's output is logged as well. The test is skipped, naming what is
// missing, where guests cannot run; it fails if the guest dies.
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

// tools are the programs that a guest needs and the packages that have them.
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

// Missing lists the Debian packages that guests of an architecture need and
// that are not here.
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
