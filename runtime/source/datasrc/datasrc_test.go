package datasrc

import "testing"

// The values are built from the constants of include/uapi/linux/perf_event.h:
// which bits a shift moves, and by how much, is written out.
func TestBits(t *testing.T) {
	const (
		load, store                  = 0x02, 0x04
		lvlNA, lvlHit, lvlMiss       = 0x01 << 5, 0x02 << 5, 0x04 << 5
		lvlL1, lvlLFB, lvlL3         = 0x08 << 5, 0x10 << 5, 0x40 << 5
		lvlLocal, lvlRemote1         = 0x80 << 5, 0x100 << 5
		snoopNA, snoopNone, snoopHit = 0x01 << 19, 0x02 << 19, 0x04 << 19
		snoopHitM                    = 0x10 << 19
		lockNA, locked               = 0x01 << 24, 0x02 << 24
		tlbNA, tlbHit, tlbMiss       = 0x01 << 26, 0x02 << 26, 0x04 << 26
		tlbL1, tlbL2, tlbWalk        = 0x08 << 26, 0x10 << 26, 0x20 << 26
		numL1, numL3, numRAM, numNA  = 0x01 << 33, 0x03 << 33, 0x0d << 33, 0x0f << 33
		remote                       = 0x01 << 37
		fwd, peer                    = 0x01 << 38, 0x02 << 38
		blkNA, blkData, blkAddr      = 0x01 << 40, 0x02 << 40, 0x04 << 40
		hops0, hops2                 = 0x01 << 43, 0x03 << 43
	)
	f := func(b Bits, op, want string) {
		t.Helper()
		if b.Op() != op || b.String() != want {
			t.Errorf("%#x: got %s, %s, want %s, %s", uint64(b), b.Op(), b, op, want)
		}
	}
	f(load|lvlHit|lvlL3|snoopNone|tlbHit|tlbL1|tlbL2|blkNA|numL3, "LOAD",
		"L3 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK N/A")
	f(store|lvlHit|lvlL1|snoopNA|tlbMiss|tlbL2|locked|blkNA|numL1, "STORE",
		"L1 hit|SNP N/A|TLB L2 miss|LCK Yes|BLK N/A")
	f(load|lvlHit|lvlRemote1|lvlLocal|snoopHit|tlbHit|tlbWalk|lockNA, "LOAD",
		"Local RAM or Remote RAM (1 hop) hit|SNP Hit|TLB Walker hit|LCK N/A|BLK N/A")
	f(load|lvlMiss|lvlLFB|snoopHitM|fwd|tlbNA|blkData|blkAddr, "LOAD",
		"LFB/MAB miss|SNP HitM Fwd|TLB N/A|LCK No|BLK Data|Addr")
	f(load|lvlHit|numRAM|remote|hops2|peer|tlbHit|tlbL1, "LOAD",
		"Remote socket, same board RAM hit|SNP Peer|TLB L1 hit|LCK No|BLK N/A")
	f(load|lvlHit|lvlLocal|numRAM, "LOAD", "Local RAM hit|SNP N/A|TLB N/A|LCK No|BLK N/A")
	f(load|lvlHit|numL3|remote|hops0, "LOAD", "Remote core, same node L3 hit|SNP N/A|TLB N/A|LCK No|BLK N/A")
	f(1|lvlNA|snoopNA|tlbNA|lockNA|blkNA|numNA, "N/A", "N/A|SNP N/A|TLB N/A|LCK N/A|BLK N/A")
}
