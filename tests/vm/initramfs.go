package vm

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// This file makes the guest's root file system: busybox, an init that runs the
// command, the files given, and the modules that the guest needs.

// initScript is process 1. There is no udev, so it finds the ports by their
// names in sysfs.
const initScript = `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/w:/bin:/sbin:/usr/bin:/usr/sbin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
for kind in debugfs:/sys/kernel/debug tracefs:/sys/kernel/tracing bpf:/sys/fs/bpf cgroup2:/sys/fs/cgroup; do
	mount -t ${kind%%:*} none ${kind#*:}
done
ip link set lo up
while read -r module; do insmod $module || echo "guest: cannot load $module"; done </modules/order
if [ -e /sys/class/net/eth0 ]; then
	ip link set eth0 up
	ip addr add 10.0.2.15/24 dev eth0
fi
# The host tells the names of the ports when it comes to it.
tries=0
while [ -z "$out" -o -z "$status" ] && [ $tries -lt 100 ]; do
	for entry in /sys/class/virtio-ports/*; do
		case $(cat $entry/name 2>/dev/null) in
		out) out=/dev/${entry##*/} ;;
		status) status=/dev/${entry##*/} ;;
		esac
	done
	tries=$((tries + 1))
	[ -n "$out" -a -n "$status" ] || sleep 0.1
done
# Emulated, collecting garbage is most of what a short run costs.
export GOGC=400
cd /w
sh /command </dev/null >$out 2>&1
echo $? >$status
poweroff -f
`

// emptyDirs are the directories that init mounts on or that programs expect.
var emptyDirs = []string{
	"dev", "etc", "lib64", "proc", "root", "run", "sbin", "sys", "tmp", "usr/bin", "usr/sbin", "var",
	"w",
}

// writeInitramfs writes the archive to file.
func writeInitramfs(file string, kernel kernelDir, g Guest, command string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	defer func() {
		err = errors.Join(err, buffered.Flush(), f.Close())
	}()
	w := newCpio(buffered)
	for _, dir := range emptyDirs {
		w.dir(dir)
	}
	busybox := "/bin/busybox"
	if g.machine().foreign() {
		busybox = filepath.Join(kernel.dir, "busybox")
	}
	if !isStatic(busybox) {
		return fmt.Errorf("%s is not static: install busybox-static", busybox)
	}
	w.copy("bin/busybox", busybox)
	w.file("init", 0o755, []byte(initScript))
	w.file("command", 0o755, []byte(command+"\n"))
	w.file("etc/passwd", 0o644,
		[]byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"))
	w.file("etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n"))
	for _, dst := range slices.Sorted(maps.Keys(g.Files)) {
		if err := addFile(w, dst, g.Files[dst]); err != nil {
			return err
		}
	}
	if err := addModules(w, kernel,
		append([]string{"virtio_pci", "virtio_console"}, g.wantedModules()...)); err != nil {
		return err
	}
	return w.close()
}

func (g Guest) wantedModules() []string {
	var first []string
	if g.DiskMiB > 0 || g.Disk != "" {
		first = append(first, "virtio_blk")
	}
	if g.Network {
		first = append(first, "virtio_net")
	}
	return append(first, g.Modules...)
}

// addFile adds a file, or a directory with its content, and the shared
// libraries of its programs.
func addFile(w *cpio, dst, src string) error {
	if !path.IsAbs(dst) {
		return fmt.Errorf("path in the guest: got %q, want an absolute path", dst)
	}
	return filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, name)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(path.Join(dst, rel), "/")
		if d.IsDir() {
			w.dir(at)
			return nil
		}
		w.copy(at, name)
		for _, lib := range libraries(name) {
			w.copy(strings.TrimPrefix(lib, "/"), lib)
		}
		return nil
	})
}

// isStatic reports whether file is a program without an interpreter.
func isStatic(file string) bool {
	f, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

var libraryPath = regexp.MustCompile(`/[^ ]+`)

// libraries returns the shared libraries and the loader of a program; none if
// the file is no program.
func libraries(file string) []string {
	f, err := elf.Open(file)
	if err != nil {
		return nil
	}
	f.Close()
	text, err := exec.Command("ldd", file).Output()
	if err != nil {
		return nil // static
	}
	var libs []string
	for line := range strings.Lines(string(text)) {
		if lib := libraryPath.FindString(strings.TrimSpace(line)); lib != "" {
			libs = append(libs, lib)
		}
	}
	return libs
}
