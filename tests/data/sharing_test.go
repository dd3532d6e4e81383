package data

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/perfdata"
)

// sharing.data has accesses to cache lines that threads share, as perf c2c record has them: four
// threads on four CPUs of two nodes. Two of them have a counter each on the line at 0x7f0000002000,
// so that each finds the line changed by the other; the line at 0x7f0000003040 is passed around
// within a node; others are not shared.

// Bits of an access's data source: union perf_mem_data_src.
const (
	opLoad, opStore = 0x02, 0x04
	srcL1           = 0x02<<5 | 0x08<<5 | 0x01<<33
	srcL1Miss       = 0x04<<5 | 0x08<<5 | 0x01<<33
	srcL3           = 0x02<<5 | 0x40<<5 | 0x03<<33
	srcRemoteCache  = 0x02<<5 | 0x400<<5 | 0x01<<37 | 0x03<<33
	srcRAM          = 0x02<<5 | 0x80<<5 | 0x0d<<33
	snpNone         = 0x02 << 19
	snpNA           = 0x01 << 19
	snpHitM         = 0x10 << 19
	tlbHit          = 0x02<<26 | 0x08<<26 | 0x10<<26
	blkNA           = 0x01 << 40
)

// sharedAccesses are the samples of sharing.data.
func sharedAccesses() (list []memoryAccess) {
	add := func(n int, cpu uint32, addr, latency, src uint64) {
		for range n {
			list = append(list, memoryAccess{store: src&opStore != 0, tid: 101 + cpu, cpu: cpu, addr: addr,
				phys: addr & 0xffffff, latency: latency, src: src | tlbHit | blkNA})
		}
	}
	const counters, passed, own = 0x7f0000002000, 0x7f0000003040, 0x7f0000004000
	add(20, 2, counters+8, 900, opLoad|srcRemoteCache|snpHitM)
	add(7, 1, counters+8, 300, opLoad|srcL3|snpHitM)
	add(12, 0, counters, 4, opLoad|srcL1|snpNone)
	add(15, 0, counters, 0, opStore|srcL1|snpNA)
	add(5, 2, counters+8, 0, opStore|srcL1Miss|snpNA)
	add(9, 1, passed+32, 250, opLoad|srcL3|snpHitM)
	add(3, 0, passed+32, 60, opLoad|srcL3|snpNone)
	add(6, 0, passed+32, 0, opStore|srcL1|snpNA)
	add(1, 3, passed+16, 800, opLoad|srcRemoteCache|snpHitM)
	for i := range uint64(10) {
		add(2, 3, own+64*i, 5, opLoad|srcL1|snpNone)
		add(1, 3, own+64*i, 350, opLoad|srcRAM|snpNone)
		add(2, 3, own+64*i, 0, opStore|srcL1|snpNA)
	}
	return list
}

// numa is the header's NUMA_TOPOLOGY of two nodes with two CPUs each.
func numa() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 2)
	for node, cpus := range []string{"0-1", "2-3"} {
		b = le.AppendUint32(b, uint32(node))
		b = le.AppendUint64(le.AppendUint64(b, 1<<20), 1<<19) // total memory and free memory in kB
		text := make([]byte, 64)
		copy(text, cpus)
		b = append(le.AppendUint32(b, uint32(len(text))), text...)
	}
	return b
}

// featNUMA is HEADER_NUMA_TOPOLOGY of perf.
const featNUMA = 14

// makeSharing writes sharing.data, with the records that perf c2c asks for: a name, and the mappings of code
// and data.
func makeSharing(path string) error {
	w, err := createMemory(path, &perfdata.Info{CPUsOnline: 4, CPUsAvail: 4,
		Machine: map[int][]byte{featNUMA: numa()}, Cmdline: []string{"perf", "c2c", "record"}})
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	now, cpu := uint64(999_000_000), uint32(0)
	// record writes a record, followed by the members that identify it: tid, time,
	// cpu, id.
	record := func(kind uint32, misc uint16, body []byte) error {
		b := le.AppendUint32(nil, kind)
		b = le.AppendUint16(b, misc)
		b = le.AppendUint16(b, uint16(8+len(body)+32))
		b = le.AppendUint32(le.AppendUint32(append(b, body...), 100), 100)
		b = le.AppendUint64(b, now)
		b = le.AppendUint32(le.AppendUint32(b, cpu), 0)
		return w.Write(le.AppendUint64(b, 1))
	}
	name := func(b []byte, text string) []byte {
		b = append(append(b, text...), 0)
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
		return b
	}
	for tid := uint32(101); tid <= 104; tid++ {
		body := le.AppendUint32(le.AppendUint32(nil, 100), tid)
		if err := record(unix.PERF_RECORD_COMM, 0, name(body, "sharer")); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		start, size uint64
		file        string
		misc        uint16
	}{
		{0x401000, 0x1000, "[sharer]", unix.PERF_RECORD_MISC_USER},
		{0x7f0000000000, 0x100000, "//anon", unix.PERF_RECORD_MISC_USER | 1<<13}, // MMAP_DATA
	} {
		body := le.AppendUint32(le.AppendUint32(nil, 100), 100)
		for _, v := range []uint64{m.start, m.size, 0} {
			body = le.AppendUint64(body, v)
		}
		if err := record(unix.PERF_RECORD_MMAP, m.misc, name(body, m.file)); err != nil {
			return err
		}
	}
	for i, a := range sharedAccesses() {
		id := uint64(1)
		if a.store {
			id = 2
		}
		b := le.AppendUint32(nil, unix.PERF_RECORD_SAMPLE)
		b = le.AppendUint16(b, unix.PERF_RECORD_MISC_USER)
		b = le.AppendUint16(b, 88)
		b = le.AppendUint64(le.AppendUint64(b, id), 0x401000+a.addr&0x38+id)
		b = le.AppendUint32(le.AppendUint32(b, 100), a.tid)
		b = le.AppendUint64(le.AppendUint64(b, 1_000_000_000+uint64(i)*1_000_000), a.addr)
		b = le.AppendUint32(le.AppendUint32(b, a.cpu), 0)
		for _, v := range []uint64{1000, a.latency, a.src, a.phys} {
			b = le.AppendUint64(b, v)
		}
		if err := w.Write(b); err != nil {
			return err
		}
	}
	if err := w.FinishedRound(); err != nil {
		return err
	}
	return w.Finish()
}

// sharing.data must equal the output of makeSharing.
func TestSharingIsAsWritten(t *testing.T) { asWritten(t, "sharing.data", makeSharing) }
