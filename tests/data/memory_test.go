package data

import (
	"encoding/binary"
	"flag"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/perfdata"
)

var update = flag.Bool("update", false, "make memory.data anew")

// A memoryAccess is a sample of memory.data.
type memoryAccess struct {
	store               bool
	tid, cpu            uint32
	addr, phys, latency uint64
	src                 uint64
}

// memoryAccesses are the samples of memory.data. Their data sources have the
// form that CPUs report: the level as bits and as a number, and the results of
// snoop, TLB and lock.
func memoryAccesses() []memoryAccess {
	const (
		l3, l1     = 0x02<<5 | 0x40<<5 | 0x03<<33, 0x02<<5 | 0x08<<5 | 0x01<<33
		ram        = 0x02<<5 | 0x80<<5 | 0x0d<<33
		remote     = 0x02<<5 | 0x400<<5 | 0x01<<37 | 0x03<<33
		tlb, walk  = 0x02<<26 | 0x08<<26 | 0x10<<26, 0x04<<26 | 0x10<<26
		none, hitm = 0x02 << 19, 0x10 << 19
		locked     = 0x02 << 24
		blkNA      = 0x01 << 40
		load, st   = 0x02, 0x04
	)
	var list []memoryAccess
	for i := range uint64(60) {
		a := memoryAccess{
			tid:     uint32(100 + i%3),
			cpu:     uint32(i % 2),
			addr:    0x7f0000001000 + 64*i,
			phys:    0x12345000 + 64*i,
			latency: 30 + i,
			src:     load | l3 | none | tlb | blkNA,
		}
		switch {
		case i%4 == 3:
			a.store, a.latency, a.src = true, 0, st|l1|0x01<<19|tlb|blkNA
		case i%10 == 0:
			a.latency, a.src = 400+3*i, load|ram|none|walk|blkNA
		case i%10 == 6:
			a.latency, a.src = 200+i, load|remote|hitm|tlb|locked|blkNA
		}
		list = append(list, a)
	}
	return list
}

// createMemory begins a recording of memory accesses, with the streams that perf mem record and perf c2c have
// of an Intel CPU: loads with id 1, stores with id 2.
func createMemory(path string, info *perfdata.Info) (*perfdata.Writer, error) {
	info.Hostname, info.OSRelease, info.Arch, info.Version = "written", "0", "x86_64", "ppscript"
	info.PageSize = 4096
	w, err := perfdata.Create(path, perfdata.WriteOptions{Version: "ppscript", Info: info})
	if err != nil {
		return nil, err
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_RAW, Sample: 1000,
		Bits: unix.PerfBitSampleIDAll | unix.PerfBitPreciseIPBit1 | unix.PerfBitPreciseIPBit2,
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID |
			unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR |
			unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_WEIGHT |
			unix.PERF_SAMPLE_DATA_SRC | unix.PERF_SAMPLE_PHYS_ADDR}
	loads, stores := attr, attr
	loads.Config, loads.Ext1, stores.Config = 0x1cd, 30, 0x82d0
	for _, s := range []perfdata.StreamInfo{
		{Attr: loads, IDs: []uint64{1}, Name: "cpu/mem-loads,ldlat=30/P"},
		{Attr: stores, IDs: []uint64{2}, Name: "cpu/mem-stores/P"},
	} {
		if err := w.Add(s); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// makeMemory writes memory.data: samples as perf mem record has them of an Intel
// CPU, in the kernel's layout.
func makeMemory(path string) error {
	w, err := createMemory(path, &perfdata.Info{CPUsOnline: 2, CPUsAvail: 2,
		Cmdline: []string{"perf", "mem", "record"}})
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	for i, a := range memoryAccesses() {
		id := uint64(1)
		if a.store {
			id = 2
		}
		b := le.AppendUint32(nil, unix.PERF_RECORD_SAMPLE)
		b = le.AppendUint16(b, unix.PERF_RECORD_MISC_USER)
		b = le.AppendUint16(b, 88)
		b = le.AppendUint64(le.AppendUint64(b, id), 0x401000+uint64(i%5)*16)
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

// memory.data must equal the output of makeMemory.
func TestMemoryIsAsWritten(t *testing.T) { asWritten(t, "memory.data", makeMemory) }
