package perf

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// Bits of perf_event_attr that x/sys has no names for, by their position in
// struct perf_event_attr of include/uapi/linux/perf_event.h.
const (
	bitKsymbol       = 1 << 29
	bitBPFEvent      = 1 << 30
	bitCgroup        = 1 << 32
	bitTextPoke      = 1 << 33
	bitInheritThread = 1 << 35
)

// sampling fills the attribute for records in a ring. withID asks for
// IDENTIFIER, ringCPU says that the ring already tells the CPU.
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
		// The kernel would make a record for each hit of an event of its own software, with
		// what that hit counts as (perf_swevent_event in kernel/events/core.c).
		a.Sample_type &^= unix.PERF_SAMPLE_PERIOD
	case e.Schema.Type == unix.PERF_TYPE_TRACEPOINT && e.Schema.Weighted():
		// Unless the period is sampled, the kernel makes a record for each of what a hit counts as,
		// until it throttles the event.
		a.Sample_type |= unix.PERF_SAMPLE_PERIOD
	}
	c.ringed(&a)
	return a
}

// dummy is the attribute of the event that carries the side-band records.
func (c *Config) dummy(withID, ringCPU bool) unix.PerfEventAttr {
	// Records about tasks come whatever is excluded, and an event without the
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
	// A cgroup bit alone yields nothing; task makes the kernel look at it.
	set(&a, unix.PerfBitTask, s.Task || s.Cgroup)
	set(&a, bitCgroup, s.Cgroup)
	set(&a, bitKsymbol, s.Ksymbol)
	set(&a, bitBPFEvent, s.BPF)
	set(&a, bitTextPoke, s.TextPoke)
	c.ringed(&a)
	return a
}

// counting is the attribute of a counter without a ring.
func (c *Config) counting(e *EventConfig) unix.PerfEventAttr {
	a := c.base(e)
	a.Read_format = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING
	return a
}

// hooked is the attribute of an event whose samples a program takes: it has no
// ring.
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
		// Everything is opened disabled and enabled by itself: members of a
		// group that are opened disabled never count on some kernels.
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

// ringed fills the members of attr that are the same for all events that share rings.
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

// hasRaw reports that records of the schema carry raw data: the kernel's own
// say so by their type, others by a field that lies in it.
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

// FormatOf is the part of the attribute that decides the record layout.
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
