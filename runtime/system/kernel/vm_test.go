package kernel

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestFindVM(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/1/cmdline", "init\x00")
	write("proc/1/task/1/comm", "init\n")
	write("proc/40/cmdline", "grep\x00-uuid\x00aa-bb\x00") // names it, is none
	write("proc/40/task/40/comm", "grep\n")
	write("proc/50/cmdline", "qemu\x00-name\x00guest=web,debug-threads=on\x00-uuid\x00AA-bb\x00")
	write("proc/50/task/50/comm", "qemu\n")
	write("proc/50/task/51/comm", "CPU 0/KVM\n")
	write("proc/50/task/52/comm", "CPU 1/KVM\n")
	write("proc/52/status", "Name:\tCPU 1/KVM\nCpus_allowed_list:\t5\n")
	write("proc/51/status", "Name:\tCPU 0/KVM\nCpus_allowed_list:\t0-7\n")
	write("proc/60/cmdline", "crosvm\x00")
	write("proc/60/task/61/comm", "crosvm_vcpu3\n")
	write("sys/kernel/debug/kvm/50-11/vcpu0/tsc-offset", "-1000\n")
	r := Roots{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}

	for _, name := range []string{"aa-bb", "web", "50"} {
		vm, err := FindVM(r, name)
		if err != nil || vm.PID != 50 || !reflect.DeepEqual(vm.VCPUs, map[int]int{0: 51, 1: 52}) {
			t.Errorf("%s: got %+v, %v", name, vm, err)
		}
	}
	if vm, err := FindVM(r, "60"); err != nil || vm.VCPUs[3] != 61 {
		t.Errorf("crosvm: got %+v, %v", vm, err)
	}
	for name, want := range map[string]string{
		"1":           "no threads of virtual CPUs",
		"99":          "no such process",
		"cc":          "no virtual machine has cc",
		"$(touch x)/": "want a process",
	} {
		if _, err := FindVM(r, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	if a, b := CPUOf(r, 52), CPUOf(r, 51); a != 5 || b != -1 {
		t.Errorf("got CPUs %d and %d, want 5, and -1 for one that may run anywhere", a, b)
	}

	vm, _ := FindVM(r, "50")
	offset, _, bits, err := vm.Counter(r)
	if err != nil || int64(offset) != -1000 || bits != 0 {
		t.Errorf("got offset %d, %d bits, %v", int64(offset), bits, err)
	}
	write("sys/kernel/debug/kvm/50-11/vcpu0/tsc-scaling-ratio", "6442450944\n")
	write("sys/kernel/debug/kvm/50-11/vcpu0/tsc-scaling-ratio-frac-bits", "32\n")
	if _, ratio, bits, err := vm.Counter(r); err != nil || ratio != 3<<31 || bits != 32 {
		t.Errorf("got ratio %d, %d bits, %v", ratio, bits, err)
	}
	crosvm, _ := FindVM(r, "60")
	if _, _, _, err := crosvm.Counter(r); err == nil {
		t.Error("got a counter of a machine that debugfs does not have")
	}
	// Another thread than the main one made it.
	write("sys/kernel/debug/kvm/61-7/vcpu0/tsc-offset", "5\n")
	if offset, _, _, err := crosvm.Counter(r); err != nil || offset != 5 {
		t.Errorf("got offset %d, %v, want that of the machine that thread 61 made", offset, err)
	}
}
