package shipped

import (
	"os"
	"path/filepath"
	"testing"

	"ppscript/tests/testkit"
)

// Exits in the form of arm64: the reason is the class of the trap, or the kind
// of exit if it was no trap.
func TestKVMExitOfARM64(t *testing.T) {
	file := filepath.Join(t.TempDir(), "exits.txt")
	if err := os.WriteFile(file, []byte(`
kvm:kvm_exit ret:s32 esr_ec:u32 vcpu_pc:u64
kvm:kvm_entry vcpu_pc:u64
1us 0 vcpu/7/8 kvm_exit ret=2 esr_ec=0x24 vcpu_pc=0x1000
3us 0 vcpu/7/8 kvm_entry vcpu_pc=0x1000
4us 0 vcpu/7/8 kvm_exit ret=0 esr_ec=0 vcpu_pc=0xffff800000001000
5us 0 vcpu/7/8 kvm_entry vcpu_pc=0x1004
6us 1 vcpu/7/9 kvm_exit ret=2 esr_ec=0x24 vcpu_pc=0xffff800000001000
12us 1 vcpu/7/9 kvm_entry vcpu_pc=0xffff800000001000
`), 0o644); err != nil {
		t.Fatal(err)
	}
	const exits = `0.000012 kvm-exit latency
   cpu thread exit_reason             calls        total(us)      min(us)      avg(us)      p99(us)      max(us)  %gsys
------ ------ -------------------- -------- ---------------- ------------ ------------ ------------ ------------ ------
     0      8 36                          1            2.000        2.000        2.000        2.000        2.000   0.00
     0      8 0                           1            1.000        1.000        1.000        1.000        1.000 100.00
     1      9 36                          1            6.000        6.000        6.000        6.000        6.000 100.00
`
	out := testkit.Run(t, testkit.PPScript(t), "kvm-exit", "--input", file, "--perins", "--time", "mono").
		Want(t, 0)
	if out.Stdout != exits {
		t.Errorf("kvm-exit: got\n%s\nwant\n%s", out.Stdout, exits)
	}
	const spent = `0.000012 kvm_exit latency
   pid exit_reason             calls        total(us)      min(us)      avg(us)      p99(us)      max(us)   total wait(us)     rundelay(us)
------ -------------------- -------- ---------------- ------------ ------------ ------------ ------------ ---------------- ----------------
     7 36                          2            8.000        2.000        4.000        6.000        6.000            0.000            0.000
     7 0                           1            1.000        1.000        1.000        1.000        1.000            0.000            0.000
`
	out = testkit.Run(t, testkit.PPScript(t), "bpf:kvm_exit", "--input", file, "--perins", "--threshold", "0",
		"--time", "mono").Want(t, 0)
	if out.Stdout != spent {
		t.Errorf("bpf:kvm_exit: got\n%s\nwant\n%s", out.Stdout, spent)
	}
}
