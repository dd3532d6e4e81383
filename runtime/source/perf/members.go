package perf

import (
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file reads the members of a sample that few plans use. Members at fixed
// offsets need one load. Members after the callchain and raw data are found by
// parsing the record each time, which costs some ten nanoseconds.

// Member implements event.Members.
func (l *Layout) Member(e *event.Event, f event.Member) (uint64, bool) {
	rec := e.Rec
	if e.Kind != event.Sample || len(rec) < l.fixed {
		return 0, false
	}
	if f >= event.MemberReg {
		return l.register(e, uint(f-event.MemberReg))
	}
	at := 0
	switch f {
	case event.MemberTime:
		at = l.time
	case event.MemberPeriod:
		at = l.period
	case event.MemberAddr:
		at = l.addr
	case event.MemberIP:
		at = l.ip
	case event.MemberID:
		at = l.id
		if at == 0 {
			at = l.id2
		}
	case event.MemberPID:
		return uint64(int64(e.PID)), l.tid != 0
	case event.MemberTID:
		return uint64(int64(e.TID)), l.tid != 0
	case event.MemberCPU:
		return uint64(int64(e.CPU)), l.cpu != 0
	case event.MemberMode:
		return uint64(le32(rec, 4) & unix.PERF_RECORD_MISC_CPUMODE_MASK), true
	case event.MemberCgroup:
		return l.word(rec, unix.PERF_SAMPLE_CGROUP)
	case event.MemberDataPage:
		return l.word(rec, unix.PERF_SAMPLE_DATA_PAGE_SIZE)
	case event.MemberCodePage:
		return l.word(rec, unix.PERF_SAMPLE_CODE_PAGE_SIZE)
	case event.MemberWeight:
		if l.SampleType&unix.PERF_SAMPLE_WEIGHT_STRUCT != 0 {
			v, ok := l.word(rec, unix.PERF_SAMPLE_WEIGHT_STRUCT)
			return v & 0xffffffff, ok // var1_dw
		}
		return l.word(rec, unix.PERF_SAMPLE_WEIGHT)
	case event.MemberDataSrc:
		return l.word(rec, unix.PERF_SAMPLE_DATA_SRC)
	case event.MemberPhysAddr:
		return l.word(rec, unix.PERF_SAMPLE_PHYS_ADDR)
	}
	if at == 0 {
		return 0, false
	}
	return le64(rec, at), true
}

// word reads a member of 8 bytes after the raw data.
func (l *Layout) word(rec []byte, bit uint64) (uint64, bool) {
	if l.SampleType&bit == 0 {
		return 0, false
	}
	b, ok := l.part(rec, bit)
	if !ok || len(b) < 8 {
		return 0, false
	}
	return le64(b, 0), true
}

// StreamID returns the stream id of a sample, 0 if it has none.
//
// Fast path: one load.
func (l *Layout) StreamID(e *event.Event) uint64 {
	if l.streamID == 0 || e.Kind != event.Sample || len(e.Rec) < l.fixed {
		return 0
	}
	return le64(e.Rec, l.streamID)
}

// Callchain implements event.Members.
func (l *Layout) Callchain(e *event.Event) []uint64 {
	if !l.chain || e.Kind != event.Sample {
		return nil
	}
	b, ok := l.part(e.Rec, unix.PERF_SAMPLE_CALLCHAIN)
	if !ok {
		return nil
	}
	chain := words(b)
	if l.Deferred != nil {
		return l.Deferred(e, chain)
	}
	return chain
}

// UserRegs returns the registers of the interrupted user code, one for each bit
// of the mask, in the order of the kernel's enum perf_event_x86_regs or
// perf_event_arm_regs. It is nil in samples of kernel threads. The result is a
// view and valid as long as the event.
func (l *Layout) UserRegs(e *event.Event) []uint64 {
	return l.regs(e, unix.PERF_SAMPLE_REGS_USER)
}

// UserMask returns the mask of the registers in UserRegs.
func (l *Layout) UserMask() uint64 { return l.RegsUser }

// register returns register n at the event or, if that was not sampled, in the
// interrupted user code.
func (l *Layout) register(e *event.Event, n uint) (uint64, bool) {
	bit := uint64(1) << (n & 63)
	mask, member := l.RegsIntr, uint64(unix.PERF_SAMPLE_REGS_INTR)
	if mask&bit == 0 {
		mask, member = l.RegsUser, unix.PERF_SAMPLE_REGS_USER
	}
	i := bits.OnesCount64(mask & (bit - 1))
	if ws := l.regs(e, member); mask&bit != 0 && n < 64 && i < len(ws) {
		return ws[i], true
	}
	return 0, false
}

func (l *Layout) regs(e *event.Event, bit uint64) []uint64 {
	if l.SampleType&bit == 0 || e.Kind != event.Sample {
		return nil
	}
	b, ok := l.part(e.Rec, bit)
	if !ok || len(b) <= 8 {
		return nil
	}
	return words(b[8:])
}

// UserStack returns the copied part of the user stack, lowest address first.
// The result is a view and valid as long as the event.
func (l *Layout) UserStack(e *event.Event) []byte {
	if l.SampleType&unix.PERF_SAMPLE_STACK_USER == 0 || e.Kind != event.Sample {
		return nil
	}
	b, _ := l.part(e.Rec, unix.PERF_SAMPLE_STACK_USER)
	if len(b) < 16 {
		return nil
	}
	data := b[8 : len(b)-8]
	if dyn := le64(b, len(b)-8); dyn < uint64(len(data)) {
		data = data[:dyn]
	}
	return data
}

// words converts b to numbers, as a view. It copies b only if b is not aligned,
// which happens in files but not in rings.
func words(b []byte) []uint64 {
	n := len(b) / 8
	if n == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%8 == 0 {
		return unsafe.Slice((*uint64)(p), n)
	}
	ws := make([]uint64, n)
	for i := range ws {
		ws[i] = le64(b, 8*i)
	}
	return ws
}

// part parses a sample from the callchain on, and returns the bytes of the
// member with bit want; false if the record ends before.
func (l *Layout) part(rec []byte, want uint64) ([]byte, bool) {
	if len(rec) < l.fixed {
		return nil, false
	}
	w := walker{b: rec[l.fixed:], ok: true}
	if l.read != 0 && l.ReadFormat&unix.PERF_FORMAT_GROUP != 0 {
		size, ok := groupSize(l.ReadFormat, le64(rec, l.read))
		if !ok || l.read+size > len(rec) {
			return nil, false
		}
		w.b = rec[l.read+size:]
	}
	for _, m := range order {
		if l.SampleType&m == 0 {
			continue
		}
		var part []byte
		switch m {
		case unix.PERF_SAMPLE_CALLCHAIN:
			w.take(8)
			part = w.take(8 * w.count(8191))
			if !w.ok {
				return nil, false
			}
		case unix.PERF_SAMPLE_RAW:
			part = w.sized32()
		case unix.PERF_SAMPLE_BRANCH_STACK:
			part = w.branches(l.BranchType)
		case unix.PERF_SAMPLE_REGS_USER:
			part = w.registers(l.RegsUser)
		case unix.PERF_SAMPLE_REGS_INTR:
			part = w.registers(l.RegsIntr)
		case unix.PERF_SAMPLE_STACK_USER:
			part = w.stack()
		case unix.PERF_SAMPLE_AUX:
			w.take(8)
			part = w.take(w.count(1 << 16))
		default:
			part = w.take(8)
		}
		if !w.ok || m == want {
			return part, w.ok
		}
	}
	return nil, false
}

// order is the order of the members with variable offsets.
var order = [...]uint64{
	unix.PERF_SAMPLE_CALLCHAIN, unix.PERF_SAMPLE_RAW, unix.PERF_SAMPLE_BRANCH_STACK,
	unix.PERF_SAMPLE_REGS_USER, unix.PERF_SAMPLE_STACK_USER,
	unix.PERF_SAMPLE_WEIGHT, unix.PERF_SAMPLE_WEIGHT_STRUCT, unix.PERF_SAMPLE_DATA_SRC,
	unix.PERF_SAMPLE_TRANSACTION, unix.PERF_SAMPLE_REGS_INTR, unix.PERF_SAMPLE_PHYS_ADDR,
	unix.PERF_SAMPLE_CGROUP, unix.PERF_SAMPLE_DATA_PAGE_SIZE, unix.PERF_SAMPLE_CODE_PAGE_SIZE,
	unix.PERF_SAMPLE_AUX,
}

// A walker removes members from the front of b; ok becomes false if b ends
// early.
type walker struct {
	b    []byte
	last []byte
	ok   bool
}

func (w *walker) take(n int) []byte {
	if !w.ok || n < 0 || n > len(w.b) {
		w.ok, w.last = false, nil
		return nil
	}
	w.last, w.b = w.b[:n:n], w.b[n:]
	return w.last
}

// count returns the number in the last 8 bytes taken; a number above limit is
// corrupt.
func (w *walker) count(limit uint64) int {
	if !w.ok || len(w.last) < 8 {
		return 0
	}
	n := le64(w.last, 0)
	if n > limit {
		w.ok = false
		return 0
	}
	return int(n)
}

func (w *walker) sized32() []byte {
	b := w.take(4)
	if !w.ok {
		return nil
	}
	return w.take(int(le32(b, 0)))
}

// branches takes nr, the index if the type includes it, nr entries of 24 bytes,
// and nr counters if the type includes them. Without entries the kernel leaves
// out the index, too.
func (w *walker) branches(typ uint64) []byte {
	start := w.b
	w.take(8)
	n := w.count(1 << 11)
	if n > 0 {
		if typ&unix.PERF_SAMPLE_BRANCH_HW_INDEX != 0 {
			w.take(8)
		}
		w.take(24 * n)
		if typ&unix.PERF_SAMPLE_BRANCH_COUNTERS != 0 {
			w.take(8 * n)
		}
	}
	return start[:len(start)-len(w.b)]
}

// registers takes the ABI and, unless the ABI is none, one word for each bit of
// the mask.
func (w *walker) registers(mask uint64) []byte {
	start := w.b
	b := w.take(8)
	if w.ok && le64(b, 0) != unix.PERF_SAMPLE_REGS_ABI_NONE {
		w.take(8 * bits.OnesCount64(mask))
	}
	return start[:len(start)-len(w.b)]
}

// stack takes size, that many bytes, and the size in use unless size is 0.
func (w *walker) stack() []byte {
	start := w.b
	w.take(8)
	if n := w.count(1 << 16); n > 0 {
		w.take(n)
		w.take(8)
	}
	return start[:len(start)-len(w.b)]
}

// A FixedPeriod implements event.Members for an event with a fixed period, which is not in
// its samples.
type FixedPeriod struct {
	*Layout
	Period uint64
}

// Member implements event.Members.
func (m *FixedPeriod) Member(e *event.Event, f event.Member) (uint64, bool) {
	if f == event.MemberPeriod && e.Kind == event.Sample {
		return m.Period, true
	}
	return m.Layout.Member(e, f)
}
