package perf

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// recordBuilder writes records as the kernel would.
type recordBuilder struct{ b []byte }

func newRecord(typ uint32, misc uint16) *recordBuilder {
	r := &recordBuilder{}
	return r.u32(typ).u16(misc).u16(0)
}

func (r *recordBuilder) u16(v uint16) *recordBuilder {
	r.b = binary.LittleEndian.AppendUint16(r.b, v)
	return r
}

func (r *recordBuilder) u32(v uint32) *recordBuilder {
	r.b = binary.LittleEndian.AppendUint32(r.b, v)
	return r
}

func (r *recordBuilder) u64(vs ...uint64) *recordBuilder {
	for _, v := range vs {
		r.b = binary.LittleEndian.AppendUint64(r.b, v)
	}
	return r
}

func (r *recordBuilder) bytes(b []byte) *recordBuilder {
	r.b = append(r.b, b...)
	return r
}

// text writes s with its NUL, padded to 8 bytes.
func (r *recordBuilder) text(s string) *recordBuilder {
	r.b = append(append(r.b, s...), 0)
	for len(r.b)%8 != 0 {
		r.b = append(r.b, 0)
	}
	return r
}

func (r *recordBuilder) record() []byte {
	binary.LittleEndian.PutUint16(r.b[6:], uint16(len(r.b)))
	return r.b
}

// sampleValues are the members that sampleRecord writes, each with a different
// value.
const (
	valID     = 0x1d
	valIP     = 0xffffffff81000000
	valPID    = 1234
	valTID    = 1235
	valTime   = 77_000_000_123
	valAddr   = 0xadd0
	valStream = 0x57
	valCPU    = 3
	valPeriod = 99
	valWeight = 0x17
	valCgroup = 0xc6
)

var (
	valChain = []uint64{0xffffffffffffff80, 0xffffffff81000010, 0xfffffffffffffe00, 0x400123}
	valRaw   = []byte("0123456789abcdef0123") // 4 + 20 is a multiple of 8
	valStack = []byte("stack-of-16bytes")
	valRegs  = []uint64{11, 12, 13}
)

// sampleRecord writes a sample with all members of f, the kernel thread way
// (no user registers, no stack) if kthread.
func sampleRecord(f Format, kthread bool) []byte {
	r := newRecord(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_KERNEL)
	has := func(bit uint64) bool { return f.SampleType&bit != 0 }
	word := func(bit uint64, vs ...uint64) {
		if has(bit) {
			r.u64(vs...)
		}
	}
	word(unix.PERF_SAMPLE_IDENTIFIER, valID)
	word(unix.PERF_SAMPLE_IP, valIP)
	word(unix.PERF_SAMPLE_TID, valPID|valTID<<32)
	word(unix.PERF_SAMPLE_TIME, valTime)
	word(unix.PERF_SAMPLE_ADDR, valAddr)
	word(unix.PERF_SAMPLE_ID, valID)
	word(unix.PERF_SAMPLE_STREAM_ID, valStream)
	word(unix.PERF_SAMPLE_CPU, valCPU|0xdead<<32) // res is not always 0
	word(unix.PERF_SAMPLE_PERIOD, valPeriod)
	if has(unix.PERF_SAMPLE_READ) {
		once := f.ReadFormat & (unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING)
		each := f.ReadFormat & (unix.PERF_FORMAT_ID | unix.PERF_FORMAT_LOST)
		members := uint64(1)
		if f.ReadFormat&unix.PERF_FORMAT_GROUP != 0 {
			members = 2
			r.u64(members)
		} else {
			r.u64(1000) // value
		}
		for b := once; b != 0; b &= b - 1 {
			r.u64(2000)
		}
		for range members {
			if f.ReadFormat&unix.PERF_FORMAT_GROUP != 0 {
				r.u64(1000)
			}
			for b := each; b != 0; b &= b - 1 {
				r.u64(3000)
			}
		}
	}
	if has(unix.PERF_SAMPLE_CALLCHAIN) {
		r.u64(uint64(len(valChain))).u64(valChain...)
	}
	if has(unix.PERF_SAMPLE_RAW) {
		r.u32(uint32(len(valRaw))).bytes(valRaw)
	}
	if has(unix.PERF_SAMPLE_BRANCH_STACK) {
		r.u64(2)
		if f.BranchType&unix.PERF_SAMPLE_BRANCH_HW_INDEX != 0 {
			r.u64(7)
		}
		r.u64(1, 2, 3, 4, 5, 6)
	}
	if has(unix.PERF_SAMPLE_REGS_USER) {
		if kthread {
			r.u64(unix.PERF_SAMPLE_REGS_ABI_NONE)
		} else {
			r.u64(unix.PERF_SAMPLE_REGS_ABI_64).u64(valRegs...)
		}
	}
	if has(unix.PERF_SAMPLE_STACK_USER) {
		if kthread {
			r.u64(0)
		} else {
			r.u64(uint64(len(valStack))).bytes(valStack).u64(8)
		}
	}
	word(unix.PERF_SAMPLE_WEIGHT, valWeight)
	word(unix.PERF_SAMPLE_WEIGHT_STRUCT, valWeight|0xff<<32)
	word(unix.PERF_SAMPLE_DATA_SRC, 1)
	word(unix.PERF_SAMPLE_TRANSACTION, 2)
	if has(unix.PERF_SAMPLE_REGS_INTR) {
		r.u64(unix.PERF_SAMPLE_REGS_ABI_64).u64(valRegs...)
	}
	word(unix.PERF_SAMPLE_PHYS_ADDR, 3)
	word(unix.PERF_SAMPLE_CGROUP, valCgroup)
	return r.record()
}
