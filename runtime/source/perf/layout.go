package perf

import (
	"math/bits"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file settles, once per set of attributes, where the members of a sample
// lie. The kernel writes them in a fixed order (enum perf_event_type in
// include/uapi/linux/perf_event.h), each present or not by sample_type. Up to
// the period all have a fixed offset; callchain, raw data and all members
// behind them have other offsets in each record and are walked.

// A Format is the part of perf_event_attr that decides how records look.
type Format struct {
	SampleType  uint64 // PERF_SAMPLE_*
	ReadFormat  uint64 // PERF_FORMAT_*, for PERF_SAMPLE_READ
	BranchType  uint64 // branch_sample_type
	RegsUser    uint64 // sample_regs_user
	RegsIntr    uint64 // sample_regs_intr
	SampleIDAll bool   // records other than samples end in a SampleID
}

// A Layout knows where each member of a record lies. It does not change after
// NewLayout and may be shared.
//
// An offset of 0 means that the member is absent, since every record starts
// with its header.
type Layout struct {
	// Fast path: the members that Sample reads lie together. Absent members
	// are read from the header and made 0 or -1 by the masks, which is
	// cheaper than asking whether they are there.
	least          int // size of the shortest sample
	fixed          int // size of header and fixed members
	time, tid, cpu int
	timeAnd, tidOr uint64
	cpuOr          uint32
	plain          bool // nothing moves: raw data, if any, follow at fixed
	chain, raw     bool

	// Deferred completes a chain of a sample whose user part the kernel took later; nil in
	// live rings, since nobody asks for such.
	Deferred func(e *event.Event, chain []uint64) []uint64

	// Of samples, from the start of the record.
	id, ip, addr, id2, streamID, period, read int

	Format

	// Of the SampleID, counted back from the end of other records.
	endTID, endTime, endID, endStream, endCPU, endIdent int
	trailer                                             int // its size, 0 without SampleIDAll
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
			off += 8 // the count; the rest moves with it
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

// layTrailer lays out struct sample_id from its end: its size is known, that
// of the record in front of it is not.
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

// readSize is the size of struct read_format without PERF_FORMAT_GROUP.
func readSize(readFormat uint64) int {
	const each = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING |
		unix.PERF_FORMAT_ID | unix.PERF_FORMAT_LOST
	return 8 + 8*bits.OnesCount64(readFormat&each)
}

// groupSize is the size of struct read_format of a group whose count has been
// read.
func groupSize(readFormat, members uint64) (int, bool) {
	if members > 1<<13 { // a record has at most 64 KiB
		return 0, false
	}
	const once = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING
	each := 8 + 8*bits.OnesCount64(readFormat&(unix.PERF_FORMAT_ID|unix.PERF_FORMAT_LOST))
	return 8 + 8*bits.OnesCount64(readFormat&once) + int(members)*each, true
}

// sampleTypeFor returns the PERF_SAMPLE_* bits that carry the sample members. A
// sample member that no record carries (comm) adds the members that it is resolved
// from.
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

// SampleType is the sample type of so many events in one ring whose samples have these members.
func SampleType(members []event.Member, events int) uint64 {
	t := sampleTypeFor(members...)
	if events > 1 {
		t |= unix.PERF_SAMPLE_IDENTIFIER
	}
	return t
}
