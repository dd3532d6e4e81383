package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/system/privilege"
)

// This file finds virtual machines of this host: their process, the threads of
// their virtual CPUs, and the relation of their time stamp counters to the
// host's.

// A VM is a virtual machine and the process that runs it.
type VM struct {
	PID   int
	VCPUs map[int]int // thread of each virtual CPU, by its number
	tids  []string    // all threads of the process
}

// vcpuComm matches the names of threads of virtual CPUs in QEMU, crosvm and
// cloud-hypervisor, and firecracker.
var vcpuComm = regexp.MustCompile(`^(?:CPU (\d+)/KVM|(?:crosvm_)?vcpu ?(\d+)|fc_vcpu (\d+))$`)

// FindVM finds a virtual machine by its process, or by the UUID or name on its
// monitor's command line.
func FindVM(r Roots, name string) (*VM, error) {
	if pid, err := strconv.Atoi(name); err == nil {
		return vmOf(r, pid)
	}
	if name == "" || strings.ContainsAny(name, "/ \t\n") {
		return nil, fmt.Errorf("got %q, want a process, or the UUID or name of a virtual machine", name)
	}
	entries, err := os.ReadDir(r.ProcPath())
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(r.ProcPath(e.Name(), "cmdline"))
		if err != nil ||
			!slices.ContainsFunc(strings.FieldsFunc(string(cmdline), func(c rune) bool {
				return c == 0 || c == ',' || c == '='
			}),
				func(word string) bool { return strings.EqualFold(word, name) }) {
			continue
		}
		if vm, err := vmOf(r, pid); err == nil {
			return vm, nil
		}
	}
	return nil, fmt.Errorf("no virtual machine has %s on the command line of its monitor", name)
}

func vmOf(r Roots, pid int) (*VM, error) {
	dir := r.ProcPath(strconv.Itoa(pid), "task")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("no such process")
	}
	vm := &VM{PID: pid, VCPUs: map[int]int{}}
	for _, e := range entries {
		vm.tids = append(vm.tids, e.Name())
		comm, err := os.ReadFile(filepath.Join(dir, e.Name(), "comm"))
		if err != nil {
			continue
		}
		m := vcpuComm.FindStringSubmatch(strings.TrimSpace(string(comm)))
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1] + m[2] + m[3])
		vm.VCPUs[n], _ = strconv.Atoi(e.Name())
	}
	if len(vm.VCPUs) == 0 {
		return nil, fmt.Errorf("process %d has no threads of virtual CPUs", pid)
	}
	return vm, nil
}

// Counter returns how the guest's time stamp counter is computed from the
// host's: guest = host * ratio >> bits + offset; bits is 0 if it is not scaled.
func (vm *VM) Counter(r Roots) (offset, ratio uint64, bits uint, err error) {
	// The directory is named for the thread that made the machine, which may be
	// any thread of the process (kvm_create_vm_debugfs in virt/kvm/kvm_main.c).
	var dirs []string
	privilege.Raise(privilege.Kernel, func() {
		for _, tid := range vm.tids {
			found, _ := filepath.Glob(r.SysPath("kernel/debug/kvm", tid+"-*", "vcpu0"))
			dirs = append(dirs, found...)
		}
	})
	if len(dirs) == 0 {
		return 0, 0, 0, fmt.Errorf(
			"debugfs has no virtual machine of process %d: mount -t debugfs debugfs /sys/kernel/debug",
			vm.PID)
	}
	read := func(name string) (uint64, error) {
		text, err := privilege.ReadFile(privilege.Kernel, filepath.Join(dirs[0], name))
		if err != nil {
			return 0, err
		}
		v := strings.TrimSpace(string(text))
		if n, err := strconv.ParseInt(v, 0, 64); err == nil {
			return uint64(n), nil
		}
		return strconv.ParseUint(v, 0, 64)
	}
	if offset, err = read("tsc-offset"); err != nil {
		return 0, 0, 0, err
	}
	// Hosts whose CPUs cannot scale have no such files.
	if n, err := read("tsc-scaling-ratio-frac-bits"); err == nil {
		bits = uint(n)
		if ratio, err = read("tsc-scaling-ratio"); err != nil {
			bits = 0
		}
	}
	return offset, ratio, bits, nil
}

// CPUOf is the only CPU that a thread may run on; -1 if there are several.
func CPUOf(r Roots, tid int) int {
	text, err := os.ReadFile(r.ProcPath(strconv.Itoa(tid), "status"))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(list)); err == nil {
				return n
			}
		}
	}
	return -1
}
