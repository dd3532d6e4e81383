package perf

import (
	"bytes"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file decodes the bodies of records that are not samples. They are rare,
// so the results are copies, which stay valid after the event.
//
// No function here needs the Layout: the SampleID follows the members that are
// decoded, and texts end with a NUL.

// A Comm is a new name of a thread.
type Comm struct {
	PID, TID int32
	Name     string
	Exec     bool // changed by execve, not by prctl or /proc
}

// A Task is a fork or an exit. For an exit, the parent is the process that
// waits for the task.
type Task struct {
	PID, TID   int32
	PPID, PTID int32
	Time       event.Time
}

// A Mapping is a new memory mapping: an executable one or, with mmap_data, any.
type Mapping struct {
	PID, TID     int32
	Addr, Len    uint64
	Pgoff        uint64 // file offset in bytes
	Maj, Min     uint32 // device of the file; 0 for MMAP records
	Ino, InoGen  uint64
	Prot, Flags  uint32 // PROT_*, MAP_*; 0 for MMAP records
	Name         string // file, "//anon", "[vdso]", ...
	BuildID      []byte // replaces device and inode; nil if not recorded
	Kernel, Data bool   // Kernel: code of the kernel or a module; Data: not executable
}

// lost is a loss: the kernel dropped Count records since the ring was full.
type lost struct {
	ID    uint64 // of the event; 0 in LOST_SAMPLES
	Count uint64
}

// bodyOf returns the record's type, misc bits and the bytes after the header;
// ok is false if the record has none of the types, or a body shorter than
// least.
func bodyOf(e *event.Event, least int, types ...uint32) (typ uint32, misc uint16, body []byte, ok bool) {
	if len(e.Rec) < headerSize+least {
		return 0, 0, nil, false
	}
	typ, misc = le32(e.Rec, 0), uint16(le32(e.Rec, 4))
	for _, t := range types {
		if t == typ {
			return typ, misc, e.Rec[headerSize:], true
		}
	}
	return typ, misc, nil, false
}

func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// DecodeComm reads a COMM record.
func DecodeComm(e *event.Event) (Comm, bool) {
	_, misc, b, ok := bodyOf(e, 8, unix.PERF_RECORD_COMM)
	if !ok {
		return Comm{}, false
	}
	return Comm{
		PID:  int32(le32(b, 0)),
		TID:  int32(le32(b, 4)),
		Name: cstring(b[8:]),
		Exec: misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0,
	}, true
}

// DecodeFork reads a FORK record: TID of PID was made by PTID of PPID.
func DecodeFork(e *event.Event) (Task, bool) { return decodeTask(e, unix.PERF_RECORD_FORK) }

// DecodeExit reads an EXIT record.
func DecodeExit(e *event.Event) (Task, bool) { return decodeTask(e, unix.PERF_RECORD_EXIT) }

func decodeTask(e *event.Event, typ uint32) (Task, bool) {
	_, _, b, ok := bodyOf(e, 24, typ)
	if !ok {
		return Task{}, false
	}
	return Task{
		PID:  int32(le32(b, 0)),
		PPID: int32(le32(b, 4)),
		TID:  int32(le32(b, 8)),
		PTID: int32(le32(b, 12)),
		Time: event.Time(le64(b, 16)),
	}, true
}

// DecodeMmap reads a MMAP or MMAP2 record.
func DecodeMmap(e *event.Event) (Mapping, bool) {
	typ, misc, b, ok := bodyOf(e, 32, unix.PERF_RECORD_MMAP, unix.PERF_RECORD_MMAP2)
	if !ok {
		return Mapping{}, false
	}
	m := Mapping{
		PID:    int32(le32(b, 0)),
		TID:    int32(le32(b, 4)),
		Addr:   le64(b, 8),
		Len:    le64(b, 16),
		Pgoff:  le64(b, 24),
		Kernel: misc&unix.PERF_RECORD_MISC_CPUMODE_MASK == unix.PERF_RECORD_MISC_KERNEL,
		Data:   misc&unix.PERF_RECORD_MISC_MMAP_DATA != 0,
	}
	if typ == unix.PERF_RECORD_MMAP {
		m.Name = cstring(b[32:])
		return m, true
	}
	if len(b) < 64 {
		return Mapping{}, false
	}
	// If any event of the machine uses build-ids, the kernel also sets the bit
	// in records for other events, which have a device number at this offset.
	if n := le32(b, 32) & 0xff; misc&unix.PERF_RECORD_MISC_MMAP_BUILD_ID != 0 && n > 0 && n <= 20 &&
		le32(b, 32) == n {
		m.BuildID = bytes.Clone(b[36 : 36+n])
	} else {
		m.Maj, m.Min = le32(b, 32), le32(b, 36)
		m.Ino, m.InoGen = le64(b, 40), le64(b, 48)
	}
	m.Prot, m.Flags = le32(b, 56), le32(b, 60)
	m.Data = m.Prot&unix.PROT_EXEC == 0
	m.Name = cstring(b[64:])
	return m, true
}

// decodeLost reads a LOST or LOST_SAMPLES record.
func decodeLost(e *event.Event) (lost, bool) {
	typ, _, b, ok := bodyOf(e, 8, unix.PERF_RECORD_LOST, unix.PERF_RECORD_LOST_SAMPLES)
	if !ok {
		return lost{}, false
	}
	if typ == unix.PERF_RECORD_LOST_SAMPLES {
		return lost{Count: le64(b, 0)}, true
	}
	if len(b) < 16 {
		return lost{}, false
	}
	return lost{ID: le64(b, 0), Count: le64(b, 8)}, true
}
