package relay

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perfdata"
)

// This file makes the records that are sent. Events are encoded again, not
// copied, so that all have the same sample members.

var le = binary.LittleEndian

const (
	sampleType = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
		unix.PERF_SAMPLE_CPU |
		unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_RAW
	recHeader = 8
	maxRecord = 1<<16 - 8
)

// Describe makes the description of a stream of tracepoints, with stacks or
// without; ids begin with 1.
func Describe(id uint64, schema *event.Schema, label string, stacks bool) perfdata.StreamInfo {
	info := perfdata.StreamInfo{
		Attr: unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: schema.ID, Sample: 1,
			Sample_type: sampleType,
			Bits:        unix.PerfBitSampleIDAll | unix.PerfBitComm},
		IDs: []uint64{id}, Name: label, Schema: schema,
	}
	if stacks {
		info.Attr.Sample_type |= stackMember
	}
	return info
}

func carriesStacks(s *perfdata.StreamInfo) bool { return s.Attr.Sample_type&stackMember != 0 }

// A form is the layout of the samples and of the other records.
type form struct {
	stacks  []bool // by id: whether samples have the number of a stack
	trailer bool   // whether other records have the number too; their layout is that of id 1
}

func formOf(streams []perfdata.StreamInfo) form {
	f := form{stacks: make([]bool, len(streams)+1), trailer: len(streams) > 0 && carriesStacks(&streams[0])}
	for i := range streams {
		f.stacks[streams[i].IDs[0]] = carriesStacks(&streams[i])
	}
	return f
}

func appendHeader(b []byte, typ uint32, size int) []byte {
	b = le.AppendUint32(b, typ)
	b = le.AppendUint16(b, 0)
	return le.AppendUint16(b, uint16(size))
}

// appendSample appends e as a sample of stream id. It returns false for records
// that are too large for the format.
//
// Fast path: this runs for every event.
func (f *form) appendSample(b []byte, id uint64, e *event.Event, period, stack uint64) ([]byte, bool) {
	raw := e.Raw
	pad := -(4 + len(raw)) & 7
	size := recHeader + 5*8 + 4 + len(raw) + pad
	if f.stacks[id] {
		size += 8
	}
	if size > maxRecord {
		return b, false
	}
	b = appendHeader(b, unix.PERF_RECORD_SAMPLE, size)
	b = le.AppendUint64(b, id)
	b = le.AppendUint32(b, uint32(e.PID))
	b = le.AppendUint32(b, uint32(e.TID))
	b = le.AppendUint64(b, uint64(e.Time))
	if f.stacks[id] {
		b = le.AppendUint64(b, stack)
	}
	b = le.AppendUint64(b, uint64(uint32(e.CPU)))
	b = le.AppendUint64(b, period)
	b = le.AppendUint32(b, uint32(len(raw)+pad))
	b = append(b, raw...)
	return append(b, make([]byte, pad)...), true
}

// appendTrailer appends the sample_id that ends records other than samples.
func (f *form) appendTrailer(b []byte, pid, tid, cpu int32, t event.Time) []byte {
	b = le.AppendUint32(b, uint32(pid))
	b = le.AppendUint32(b, uint32(tid))
	b = le.AppendUint64(b, uint64(t))
	if f.trailer {
		b = le.AppendUint64(b, 0)
	}
	b = le.AppendUint64(b, uint64(uint32(cpu)))
	return le.AppendUint64(b, 1)
}

func (f *form) trailerSize() int {
	if f.trailer {
		return 5 * 8
	}
	return 4 * 8
}

// appendComm appends the name of a thread.
func (f *form) appendComm(b []byte, pid, tid int32, comm string, t event.Time) []byte {
	comm = comm[:min(len(comm), 15)]
	pad := 8 - len(comm)&7 // with the NUL
	b = appendHeader(b, unix.PERF_RECORD_COMM, recHeader+8+len(comm)+pad+f.trailerSize())
	b = le.AppendUint32(b, uint32(pid))
	b = le.AppendUint32(b, uint32(tid))
	b = append(b, comm...)
	b = append(b, make([]byte, pad)...)
	return f.appendTrailer(b, pid, tid, -1, t)
}

// appendLost appends a record of n lost events.
func (f *form) appendLost(b []byte, n uint64, t event.Time) []byte {
	b = appendHeader(b, unix.PERF_RECORD_LOST, recHeader+16+f.trailerSize())
	b = le.AppendUint64(b, 1)
	b = le.AppendUint64(b, n)
	return f.appendTrailer(b, 0, 0, -1, t)
}
