package shipped

import (
	"os"
	"path/filepath"
	"testing"

	"ppscript/tests/testkit"
)

// A tree of page tables with everything that a guest on real hardware shows:
// pages within pages, entries, and entries of emulated devices. A page that was
// freed is shown once more, and then no longer.
func TestKVMMMUTree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tree.txt")
	if err := os.WriteFile(file, []byte(`
kvmmmu:kvm_mmu_get_page gfn:u64 role:u32 created:u8
kvmmmu:kvm_mmu_prepare_zap_page gfn:u64 role:u32
kvmmmu:kvm_mmu_set_spte gfn:u64 level:u8
kvmmmu:mark_mmio_spte gfn:u64
1us 0 vcpu/7/8 kvm_mmu_get_page gfn=0 role=0x3 created=1
2us 0 vcpu/7/8 kvm_mmu_get_page gfn=0 role=0x2 created=1
3us 0 vcpu/7/8 kvm_mmu_get_page gfn=0x200 role=0x1 created=1
4us 0 vcpu/7/8 kvm_mmu_set_spte gfn=0x2a0 level=1
5us 0 vcpu/7/8 kvm_mmu_set_spte gfn=0x2a0 level=1
6us 0 vcpu/7/8 kvm_mmu_set_spte gfn=0x400 level=2
7us 0 vcpu/7/8 mark_mmio_spte gfn=0x2a1
8us 0 vcpu/7/8 kvm_mmu_get_page gfn=0x40000 role=0x2 created=1
9us 0 vcpu/9/9 kvm_mmu_get_page gfn=0 role=0x1 created=1
10us 0 vcpu/9/9 kvm_mmu_get_page gfn=0 role=0x1 created=0
11us 0 vcpu/7/8 kvm_mmu_prepare_zap_page gfn=0x40000 role=0x2
12us 0 vcpu/7/8 kvm_mmu_prepare_zap_page gfn=0x40000 role=0x802
`), 0o644); err != nil {
		t.Fatal(err)
	}
	out := testkit.Run(t, testkit.PPScript(t), "kvmmmu", "--input", file, "--detail", "--spte", "--mmio",
		"--time", "mono").Want(t, 0)
	const want = `0.000012 pages of page tables
guest 7
sp3 0x0-0x7ffffff role 0x3 get 1 created 1 zapped 0
    sp2 0x0-0x3ffff role 0x2 get 1 created 1 zapped 0
        sp1 0x200-0x3ff role 0x1 get 1 created 1 zapped 0
            spte 0x2a0-0x2a0 written 2
            spte 0x2a1-0x2a1 written 1 [mmio]
        spte 0x400-0x5ff written 1
    sp2 0x40000-0x7ffff role 0x2 get 1 created 1 zapped 1
guest 9
sp1 0x0-0x1ff role 0x1 get 2 created 1 zapped 0
`
	if out.Stdout != want {
		t.Errorf("got\n%s\nwant\n%s", out.Stdout, want)
	}
}
