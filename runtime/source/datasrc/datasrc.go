// Package datasrc decodes where the data of a memory access came from: the bits
// of union perf_mem_data_src in include/uapi/linux/perf_event.h (little
// endian), the value of the sample member data_src. It uses the names of perf
// mem.
package datasrc

import "strings"

// Bits is the value of the sample member data_src.
type Bits uint64

// part extracts the field of bits bits at shift.
func (b Bits) part(shift, bits uint) uint64 { return uint64(b) >> shift & (1<<bits - 1) }

// none is printed for a value that the CPU does not report.
const none = "N/A"

// The names of the bits, from the lowest bit up. The bit for "not available"
// and the bits for hit and miss (PERF_MEM_LVL_HIT, PERF_MEM_TLB_HIT) have empty
// names; outcome prints hit and miss.
var (
	opNames    = []string{"", "LOAD", "STORE", "PFETCH", "EXEC"}
	levelNames = []string{"", "", "", "L1", "LFB/MAB", "L2", "L3", "Local RAM", "Remote RAM (1 hop)",
		"Remote RAM (2 hops)",
		"Remote Cache (1 hop)", "Remote Cache (2 hops)", "I/O", "Uncached"}
	// numberNames are by PERF_MEM_LVLNUM.
	numberNames = map[uint64]string{
		1:  "L1",
		2:  "L2",
		3:  "L3",
		4:  "L4",
		5:  "L2 MHB",
		6:  "Memory-side Cache",
		7:  "L0",
		8:  "Uncached",
		9:  "CXL",
		10: "I/O",
		11: "Any cache",
		12: "LFB/MAB",
		13: "RAM",
		14: "PMEM",
	}
	// hopNames are by PERF_MEM_HOPS: how far the data was away.
	hopNames   = []string{"", "core, same node", "node, same socket", "socket, same board", "board"}
	snoopNames = []string{"", "None", "Hit", "Miss", "HitM"}
	peerNames  = []string{"Fwd", "Peer"}
	tlbNames   = []string{"", "", "", "L1", "L2", "Walker", "Fault"}
	blockNames = []string{"", "Data", "Addr"}
)

// memoryBits are PERF_MEM_LVL_LOC_RAM, REM_RAM1 and REM_RAM2: they distinguish
// local and remote RAM.
const memoryBits = 0x80 | 0x100 | 0x200

// bitNames joins the names of the bits that are set.
func bitNames(bits uint64, names []string, sep string) string {
	var set []string
	for i, name := range names {
		if bits>>i&1 != 0 && name != "" {
			set = append(set, name)
		}
	}
	return strings.Join(set, sep)
}

// outcome returns "hit", "miss" or "", for fields of a cache level or of the
// TLB.
func outcome(bits uint64) string {
	switch bits >> 1 & 3 {
	case 1:
		return "hit"
	case 2:
		return "miss"
	}
	return ""
}

// orUnknown returns text, or none if text is empty.
func orUnknown(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return none
	}
	return text
}

// Op returns the kind of access, such as LOAD or STORE.
func (b Bits) Op() string { return orUnknown(bitNames(b.part(0, 5), opNames, "|")) }

// level returns the level of memory that had the data, or the last level that
// was searched. Newer CPUs report a number and a distance, older ones a bit for
// each level.
func (b Bits) level() string {
	old := b.part(5, 14)
	name := ""
	if n, ok := numberNames[b.part(33, 4)]; ok && !(n == "RAM" && old&memoryBits != 0) {
		name = n
		if hops := b.part(43, 3); hops > 0 && int(hops) < len(hopNames) {
			name = hopNames[hops] + " " + name
		}
		if b.part(37, 1) != 0 {
			name = "Remote " + name
		}
	} else {
		name = bitNames(old, levelNames, " or ")
	}
	return orUnknown(name + " " + outcome(old))
}

// snoop returns the result of snooping other caches.
func (b Bits) snoop() string {
	return orUnknown(bitNames(b.part(19, 5), snoopNames, "|") + " " + bitNames(b.part(38, 2), peerNames, "|"))
}

// tlb returns the level of the TLB that translated the address.
func (b Bits) tlb() string {
	bits := b.part(26, 7)
	return orUnknown(bitNames(bits, tlbNames, " or ") + " " + outcome(bits))
}

// lock returns whether the access was part of a locked instruction.
func (b Bits) lock() string {
	switch bits := b.part(24, 2); {
	case bits&1 != 0:
		return none
	case bits&2 != 0:
		return "Yes"
	}
	return "No"
}

// block returns why a load had to wait for a store.
func (b Bits) block() string { return orUnknown(bitNames(b.part(40, 3), blockNames, "|")) }

// String formats the access like perf mem, without Op.
func (b Bits) String() string {
	return b.level() + "|SNP " + b.snoop() + "|TLB " + b.tlb() + "|LCK " + b.lock() + "|BLK " + b.block()
}
