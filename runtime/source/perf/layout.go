package perf

import (
	"math/bits"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file computes the offsets of the members of a sample, once for each set
// of attributes. The kernel writes them in a fixed order (enum perf_event_type
// in include/uapi/linux/perf_event.h); sample_type selects the members. Members
// up to the period have fixed offsets. The callchain, the raw data and all
// members after them have different offsets in each record, and are found by
// parsing the record.

// A Format is the part of perf_event_attr that determines the layout of
// records.
type Format struct {
	SampleType  uint64 // PERF_SAMPLE_*
	ReadFormat  uint64 // PERF_FORMAT_*, for PERF_SAMPLE_READ
	BranchType  uint64 // branch_sample_type
	RegsUser    uint64 // sample_regs_user
	RegsIntr    uint64 // sample_regs_intr
	SampleIDAll bool   // records other than samples end in a SampleID
}

// A Layout has the offset of each member of a record. It does not change after
// NewLayout and may be shared.
//
// An offset of 0 means that the member is absent, since every record starts
// with its header.
type Layout struct {
	// Fast path: the offsets that Sample needs are adjacent. For absent
	// members, Sample reads the header, and the masks change the value to 0 or
	// -1, which is cheaper than a branch.
	least          int // size of the shortest sample
	fixed          int // size of header and fixed members
	time, tid, cpu int
	timeAnd, tidOr uint64
	cpuOr          uint32
	plain          bool // all offsets are fixed; raw data, if any, are at offset fixed
	chain, raw     bool

	// Deferred completes a callchain whose user part the kernel recorded later; nil for
	// live rings, which have no such samples.
	Deferred func(e *event.Event, chain []uint64) []uint64

	// Offsets in samples, from the start of the record.
	id, ip, addr, id2, streamID, period, read int

	Format

	// Offsets in the SampleID, counted back from the end of other records.
	endTID, endTime, endID, endStream, endCPU, endIdent int
	trailer                                             int // size of the SampleID, 0 without SampleIDAll
}

const headerSize = 8 // struct perf_event_header: u32 type, u16 misc, u16 size

// NewLayout computes the offsets for f.
func NewLayout(f Format) *Layout {
	l := &Layout{Format: f}
	off := headerSize
	take := func(bit uint64, at *int) {
		if f.SampleType&bit != 0 {
			*at = off
			off += 8
		}
	}
	take(unix.PERF_SAMPLE_IDENTIFIER, &l.id)
	take(unix.PERF_SAMPLE_IP, &l.ip)
	take(unix.PERF_SAMPLE_TID, &l.tid)
	take(unix.PERF_SAMPLE_TIME, &l.time)
	take(unix.PERF_SAMPLE_ADDR, &l.addr)
	take(unix.PERF_SAMPLE_ID, &l.id2)
	take(unix.PERF_SAMPLE_STREAM_ID, &l.streamID)
	take(unix.PERF_SAMPLE_CPU, &l.cpu)
	take(unix.PERF_SAMPLE_PERIOD, &l.period)
	if f.SampleType&unix.PERF_SAMPLE_READ != 0 {
		l.read = off
		if f.ReadFormat&unix.PERF_FORMAT_GROUP == 0 {
			off += readSize(f.ReadFormat)
		} else {
			off += 8 // the number of members; the rest has a variable size
		}
	}
	l.fixed = off
	l.chain = f.SampleType&unix.PERF_SAMPLE_CALLCHAIN != 0
	l.raw = f.SampleType&unix.PERF_SAMPLE_RAW != 0
	l.least = l.fixed
	l.plain = !l.chain && (l.read == 0 || f.ReadFormat&unix.PERF_FORMAT_GROUP == 0)
	if l.plain && l.raw {
		l.least += 4
	}
	if l.time != 0 {
		l.timeAnd = ^uint64(0)
	}
	if l.tid == 0 {
		l.tidOr = ^uint64(0)
	}
	if l.cpu == 0 {
		l.cpuOr = ^uint32(0)
	}
	if f.SampleIDAll {
		l.layTrailer()
	}
	return l
}

// layTrailer computes the offsets in struct sample_id from the end of the
// record, since the size of the record before it varies.
func (l *Layout) layTrailer() {
	for _, m := range []struct {
		bit uint64
		at  *int
	}{
		{unix.PERF_SAMPLE_IDENTIFIER, &l.endIdent},
		{unix.PERF_SAMPLE_CPU, &l.endCPU},
		{unix.PERF_SAMPLE_STREAM_ID, &l.endStream},
		{unix.PERF_SAMPLE_ID, &l.endID},
		{unix.PERF_SAMPLE_TIME, &l.endTime},
		{unix.PERF_SAMPLE_TID, &l.endTID},
	} {
		if l.SampleType&m.bit != 0 {
			l.trailer += 8
			*m.at = l.trailer
		}
	}
}

// readSize returns the size of struct read_format without PERF_FORMAT_GROUP.
func readSize(readFormat uint64) int {
	const each = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING |
		unix.PERF_FORMAT_ID | unix.PERF_FORMAT_LOST
	return 8 + 8*bits.OnesCount64(readFormat&each)
}

// groupSize returns the size of struct read_format for a group of members
// events.
func groupSize(readFormat, members uint64) (int, bool) {
	if members > 1<<13 { // a record has at most 64 KiB
		return 0, false
	}
	const once = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING
	each := 8 + 8*bits.OnesCount64(readFormat&(unix.PERF_FORMAT_ID|unix.PERF_FORMAT_LOST))
	return 8 + 8*bits.OnesCount64(readFormat&once) + int(members)*each, true
}

// sampleTypeFor returns the PERF_SAMPLE_* bits for the sample members. For a
// member that is in no record (comm), it adds the members from which it is
// derived.
func sampleTypeFor(members ...event.Member) uint64 {
	var bits uint64
	for _, f := range members {
		switch f {
		case event.MemberTime:
			bits |= unix.PERF_SAMPLE_TIME
		case event.MemberPID, event.MemberTID, event.MemberComm, event.MemberCommNoDigit:
			bits |= unix.PERF_SAMPLE_TID
		case event.MemberCPU:
			bits |= unix.PERF_SAMPLE_CPU
		case event.MemberPeriod:
			bits |= unix.PERF_SAMPLE_PERIOD
		case event.MemberAddr:
			bits |= unix.PERF_SAMPLE_ADDR
		case event.MemberIP:
			bits |= unix.PERF_SAMPLE_IP
		case event.MemberID:
			bits |= unix.PERF_SAMPLE_IDENTIFIER
		case event.MemberCgroup:
			bits |= unix.PERF_SAMPLE_CGROUP
		case event.MemberDataPage:
			bits |= unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_DATA_PAGE_SIZE
		case event.MemberCodePage:
			bits |= unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_CODE_PAGE_SIZE
		case event.MemberWeight:
			bits |= unix.PERF_SAMPLE_WEIGHT
		case event.MemberDataSrc:
			bits |= unix.PERF_SAMPLE_DATA_SRC
		case event.MemberPhysAddr:
			bits |= unix.PERF_SAMPLE_PHYS_ADDR
		case event.MemberCallchain:
			bits |= unix.PERF_SAMPLE_CALLCHAIN
		}
	}
	return bits
}

// SampleType returns the sample type for a ring with this number of events, whose samples have
// these members.
func SampleType(members []event.Member, events int) uint64 {
	t := sampleTypeFor(members...)
	if events > 1 {
		t |= unix.PERF_SAMPLE_IDENTIFIER
	}
	return t
}
