package vm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ppscript/tests/testkit"
)

// This file prepares a kernel and runs qemu. The guest has two virtio-serial
// ports to this process, one for the command's output and one for its status:
// they pass every byte unchanged, which the serial console does not, and the
// kernel's messages stay out of the output.

// A kernelDir is a directory that kernel.sh made.
type kernelDir struct {
	dir     string
	release string // as uname -r
}

func (k kernelDir) modules() string { return filepath.Join(k.dir, "lib/modules", k.release) }

// prepare fetches the kernel unless it is in the cache.
func prepare(ctx context.Context, g Guest) (kernelDir, error) {
	series := g.kernel()
	script := testkit.Path("tests/vm/kernel.sh")
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", script, series, g.machine().arch)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return kernelDir{}, fmt.Errorf("prepare kernel %s: %w: %s", series, err, tail(stderr.Bytes(), 5))
	}
	dir := strings.TrimSpace(string(text))
	release, err := os.ReadFile(dir + "/release")
	if err != nil {
		return kernelDir{}, fmt.Errorf("prepare kernel %s: %w", series, err)
	}
	return kernelDir{dir, strings.TrimSpace(string(release))}, nil
}

func boot(ctx context.Context, g Guest, kernel kernelDir, dir string, out io.Writer) (r Result, err error) {
	var report bytes.Buffer
	ports := []*port{{name: "out", dst: out}, {name: "status", dst: &report}}
	m := g.machine()
	args := append(slices.Clip(m.args), "-accel", m.accel(ctx, g),
		"-smp", fmt.Sprintf("%d,threads=%d", max(1, g.CPUs), max(1, g.Threads)), "-m",
		strconv.Itoa(g.sizeMiB()),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", kernel.dir+"/vmlinuz", "-initrd", dir+"/initrd",
		"-append", bootWords+m.append+g.clockWords()+g.Append,
		"-chardev", "file,id=console,path="+dir+"/console", "-serial", "chardev:console",
		"-device", "virtio-serial-pci")
	if g.Threads > 1 {
		// qemu's AMD CPUs have one thread for each core
		args = append(args, "-cpu", "max,vendor=GenuineIntel")
	}
	if g.CountInsns {
		args = append(args, "-icount", "shift=1") // a CPU of 1 GHz does one in two cycles
	}
	var wg sync.WaitGroup
	for _, p := range ports {
		socket := filepath.Join(dir, p.name)
		if p.listener, err = net.Listen("unix", socket); err != nil {
			return r, fmt.Errorf("start guest: %w", err)
		}
		defer p.listener.Close()
		wg.Go(p.copy)
		args = append(args, "-chardev", "socket,server=off,id="+p.name+",path="+socket,
			"-device", "virtserialport,name="+p.name+",chardev="+p.name)
	}
	if g.Network {
		args = append(args, "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile=")
	}
	if g.Port != "" {
		at, err := socketOf(g.Port)
		if err != nil {
			return r, err
		}
		args = append(args, "-chardev", "socket,server=on,wait=off,id=port,"+at,
			"-device", "virtserialport,name=org.qemu.perf0,chardev=port")
	}
	disk := g.Disk
	if g.DiskMiB > 0 {
		disk = dir + "/disk"
		if err := os.WriteFile(disk, nil, 0o600); err != nil {
			return r, err
		}
		if err := os.Truncate(disk, int64(g.DiskMiB)<<20); err != nil {
			return r, err
		}
	}
	if disk != "" {
		// cache=unsafe: the content of the disk is worthless after the guest has
		// ended.
		args = append(args, "-drive", "if=none,id=disk,format=raw,cache=unsafe,file="+disk, "-device",
			"virtio-blk-pci,drive=disk")
	}

	qemu := exec.CommandContext(ctx, m.qemu, args...)
	said, runErr := qemu.CombinedOutput()
	if s := qemu.ProcessState; s != nil {
		r.CPU = s.UserTime() + s.SystemTime()
	}
	// qemu has ended, so all its data has arrived; do not wait for a port to
	// which it never connected.
	for _, p := range ports {
		p.listener.Close()
	}
	wg.Wait()
	r.Console, _ = os.ReadFile(dir + "/console")
	for _, p := range ports {
		if p.err != nil {
			return r, fmt.Errorf("read %s of guest: %w", p.name, p.err)
		}
	}
	if r.Status, err = strconv.Atoi(strings.TrimSpace(report.String())); err == nil {
		return r, nil
	}
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("%w: %w", ErrDied, ctx.Err())
	case runErr != nil:
		return r, fmt.Errorf("%w: qemu: %w: %s", ErrDied, runErr, tail(said, 5))
	}
	return r, fmt.Errorf("%w before the command ended", ErrDied)
}

// A port is the host's end of a virtio-serial port.
type port struct {
	name     string
	dst      io.Writer
	listener net.Listener
	err      error
}

// copy copies the guest's data to dst until qemu closes the port.
func (p *port) copy() {
	conn, err := p.listener.Accept()
	if err != nil {
		return // qemu did not start
	}
	defer conn.Close()
	_, p.err = io.Copy(p.dst, conn)
}

// socketOf returns the destination of a port in the form of qemu's options.
func socketOf(port string) (string, error) {
	if path, ok := strings.CutPrefix(port, "unix:"); ok {
		return "path=" + path, nil
	}
	host, number, err := net.SplitHostPort(port)
	return "host=" + host + ",port=" + number, err
}
