package perf

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// Bits of perf_event_attr that have no names in x/sys, by their position in
// struct perf_event_attr of include/uapi/linux/perf_event.h.
const (
	bitKsymbol       = 1 << 29
	bitBPFEvent      = 1 << 30
	bitCgroup        = 1 << 32
	bitTextPoke      = 1 << 33
	bitInheritThread = 1 << 35
)

// sampling makes the attr of an event with records in a ring. withID adds
// IDENTIFIER to samples. ringCPU says that the CPU is known from the ring.
func (c *Config) sampling(e *EventConfig, withID, ringCPU bool) unix.PerfEventAttr {
	a := c.base(e)
	a.Sample_type = c.sampleType(withID, ringCPU)
	if !e.NoRaw && hasRaw(e.Schema) {
		a.Sample_type |= unix.PERF_SAMPLE_RAW
	}
	if e.Callchain {
		a.Sample_type |= unix.PERF_SAMPLE_CALLCHAIN
	}
	if a.Sample_type&unix.PERF_SAMPLE_CALLCHAIN != 0 {
		a.Sample_max_stack = uint16(min(e.MaxStack, 1<<16-1))
		set(&a, unix.PerfBitExcludeCallchainKernel, e.ExcludeChainKernel)
		set(&a, unix.PerfBitExcludeCallchainUser, e.ExcludeChainUser)
	}
	if e.Branches {
		a.Sample_type |= unix.PERF_SAMPLE_BRANCH_STACK
		a.Branch_sample_type = unix.PERF_SAMPLE_BRANCH_ANY
	}
	if e.RegsUser != 0 {
		a.Sample_type |= unix.PERF_SAMPLE_REGS_USER
		a.Sample_regs_user = e.RegsUser
	}
	if e.RegsIntr != 0 {
		a.Sample_type |= unix.PERF_SAMPLE_REGS_INTR
		a.Sample_regs_intr = e.RegsIntr
	}
	if e.StackUser != 0 {
		a.Sample_type |= unix.PERF_SAMPLE_STACK_USER
		a.Sample_stack_user = e.StackUser
	}
	switch {
	case e.Freq != 0:
		a.Sample = e.Freq
		a.Bits |= unix.PerfBitFreq
	case e.Period != 0:
		a.Sample = e.Period
	case counts(e.Schema):
		a.Sample = 1
	default:
		a.Sample = DefaultFreq
		a.Bits |= unix.PerfBitFreq
	}
	switch {
	case e.Period > 1 && counts(e.Schema):
		// With PERF_SAMPLE_PERIOD, the kernel would make a record for each hit of a
		// software event, with the weight of that hit as the period (perf_swevent_event in
		// kernel/events/core.c).
		a.Sample_type &^= unix.PERF_SAMPLE_PERIOD
	case e.Schema.Type == unix.PERF_TYPE_TRACEPOINT && e.Schema.Weighted():
		// Without PERF_SAMPLE_PERIOD, the kernel makes as many records as the weight of a hit,
		// until it throttles the event.
		a.Sample_type |= unix.PERF_SAMPLE_PERIOD
	}
	c.ringed(&a)
	return a
}

// dummy makes the attr of the dummy event, which has the side records.
func (c *Config) dummy(withID, ringCPU bool) unix.PerfEventAttr {
	// Side records do not depend on exclusions, and an event that excludes the
	// kernel needs no privilege.
	a := c.base(&EventConfig{
		Schema:  &event.Schema{Type: unix.PERF_TYPE_SOFTWARE, ID: unix.PERF_COUNT_SW_DUMMY},
		Exclude: Exclude{Kernel: true},
	})
	a.Sample_type = c.sampleType(withID, ringCPU)
	a.Sample = 1
	s := c.SideBand
	set(&a, unix.PerfBitComm|unix.PerfBitCommExec, s.Comm)
	set(&a, unix.PerfBitMmap|unix.PerfBitMmap2, s.Mmap)
	set(&a, unix.PerfBitMmapData, s.MmapData)
	// The cgroup bit has an effect only together with the task bit.
	set(&a, unix.PerfBitTask, s.Task || s.Cgroup)
	set(&a, bitCgroup, s.Cgroup)
	set(&a, bitKsymbol, s.Ksymbol)
	set(&a, bitBPFEvent, s.BPF)
	set(&a, bitTextPoke, s.TextPoke)
	c.ringed(&a)
	return a
}

// counting makes the attr of a counter without a ring.
func (c *Config) counting(e *EventConfig) unix.PerfEventAttr {
	a := c.base(e)
	a.Read_format = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING
	return a
}

// hooked makes the attr of an event whose samples are handled by a program: it
// has no ring.
func (c *Config) hooked(e *EventConfig) unix.PerfEventAttr {
	a := c.sampling(e, false, false)
	a.Sample_type, a.Read_format = 0, 0
	return a
}

func (c *Config) base(e *EventConfig) unix.PerfEventAttr {
	a := unix.PerfEventAttr{
		Type:    e.Schema.Type,
		Size:    uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:  e.Schema.ID,
		Ext1:    e.Config1,
		Ext2:    e.Config2,
		Bp_type: e.BPType,
		// Each event is opened disabled, and enabled separately, since on some
		// kernels members of a group that are opened disabled never count.
		Bits: unix.PerfBitDisabled,
	}
	set(&a, unix.PerfBitExcludeUser, e.Exclude.User)
	set(&a, unix.PerfBitExcludeKernel, e.Exclude.Kernel)
	set(&a, unix.PerfBitExcludeHv, e.Exclude.Hypervisor)
	set(&a, unix.PerfBitExcludeHost, e.Exclude.Host)
	set(&a, unix.PerfBitExcludeGuest, e.Exclude.Guest)
	set(&a, unix.PerfBitExcludeIdle, e.Exclude.Idle)
	set(&a, unix.PerfBitPreciseIPBit1, e.Precise&1 != 0)
	set(&a, unix.PerfBitPreciseIPBit2, e.Precise&2 != 0)
	set(&a, unix.PerfBitPinned, e.Pinned)
	return a
}

// ringed sets the members of attr that are the same for all events in one ring.
func (c *Config) ringed(a *unix.PerfEventAttr) {
	a.Read_format = unix.PERF_FORMAT_ID | unix.PERF_FORMAT_LOST
	a.Bits |= unix.PerfBitSampleIDAll | unix.PerfBitWatermark
	a.Wakeup = uint32(c.wakeBytes())
	set(a, unix.PerfBitWriteBackward, c.Overwrite)
	switch c.Clock {
	case ClockMonotonic:
		a.Bits |= unix.PerfBitUseClockID
		a.Clockid = unix.CLOCK_MONOTONIC
	case ClockMonotonicRaw:
		a.Bits |= unix.PerfBitUseClockID
		a.Clockid = unix.CLOCK_MONOTONIC_RAW
	}
}

func (c *Config) sampleType(withID, ringCPU bool) uint64 {
	t := uint64(unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_CPU)
	if c.Members != nil {
		t = sampleTypeFor(c.Members...)
	}
	if c.SideBand.any() {
		t |= unix.PERF_SAMPLE_TIME
	}
	if withID {
		t |= unix.PERF_SAMPLE_IDENTIFIER
	}
	if c.SampleCPU {
		t |= unix.PERF_SAMPLE_CPU
	} else if ringCPU {
		t &^= unix.PERF_SAMPLE_CPU
	}
	return t
}

// hasRaw reports that samples of the schema have raw data, because of the
// event's type or because a field is in the raw data.
func hasRaw(s *event.Schema) bool {
	if s.Type == unix.PERF_TYPE_TRACEPOINT ||
		s.Type == unix.PERF_TYPE_SOFTWARE && s.ID == unix.PERF_COUNT_SW_BPF_OUTPUT {
		return true
	}
	for i := range s.Fields {
		switch s.Fields[i].Place {
		case event.InRaw, event.DataLoc, event.RelLoc:
			return true
		}
	}
	return false
}

func set(a *unix.PerfEventAttr, bits uint64, on bool) {
	if on {
		a.Bits |= bits
	}
}

// FormatOf returns the part of the attr that determines the layout of records.
func FormatOf(a *unix.PerfEventAttr) Format {
	return Format{
		SampleType:  a.Sample_type,
		ReadFormat:  a.Read_format,
		BranchType:  a.Branch_sample_type,
		RegsUser:    a.Sample_regs_user,
		RegsIntr:    a.Sample_regs_intr,
		SampleIDAll: a.Bits&unix.PerfBitSampleIDAll != 0,
	}
}
