package perf

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file says what projected records are: samples that a program in the kernel
// makes of an event, with no more in them than somebody reads. The program writes
// them to a buffer of its CPU (buffer.go), with a time of CLOCK_MONOTONIC.
//
// Readers of events know the places of fields in the event's own record. So an
// Event shows such a record: the sent fields at their places, zeros elsewhere.
// It is memory of the expander, which lives as long as the buffer's.

// A Projection lists the fields of an event that a program sends, and their places in the event's record.
type Projection struct {
	// Size is that of the record that events show. 0 says that the record is
	// sent as a whole: behind the first Skip bytes.
	Size, Skip int
	Copies     []Copy
	// SampleMembers are the offsets of the context members in the sent record:
	// words of 8 bytes, or texts that end with a NUL.
	SampleMembers map[event.Member]int
	// Texts is the end of the fixed part of the sent record, whose last word
	// says where texts are; 0 if there are none. See bpf/usertext.go.
	Texts int
}

// A Copy is a field: the bytes at From of the sent record are the bytes at To of the event's record.
type Copy struct{ From, To, Size int }

// Programs starts and stops the programs that send projected records.
type Programs struct {
	// Pairs and Emits are those that the programs send.
	Pairs []Pair
	Emits []Emits
	// Buffer makes the BPF ring buffer of a CPU, of size bytes, and returns its
	// descriptor. The programs wake who waits for it when wake bytes wait.
	Buffer func(cpu, size, wake int) (fd int, err error)
	// Attach is called when everything can be read and before a workload runs.
	// root is its process, 0 without one.
	Attach func(root int) error
	// Detach returns when nothing is sent any more.
	Detach func() error
	// Wake changes how many bytes have to wait in the buffer of a CPU; nil if
	// that cannot be changed.
	Wake func(cpu, wake int) error
	// Untold is how many records did not fit into the buffer of a CPU, of
	// which no record tells yet.
	Untold func(cpu int) (uint64, error)
}

// projected reports that some event is sent by a program.
func (c *Config) projected() bool {
	for i := range c.Events {
		if c.Events[i].Projection != nil {
			return true
		}
	}
	return false
}

// byPrograms turns an attachment to tasks into one to CPUs: the programs pick
// the tasks.
func (c *Config) byPrograms(a *attachment, cpus []int) {
	if !c.projected() {
		return
	}
	a.inherit, a.thread = false, false
	a.places, a.rings = nil, nil
	for i, cpu := range cpus {
		a.rings = append(a.rings, ringKey{cpu, -1})
		a.places = append(a.places, place{pid: -1, cpu: cpu, ring: i})
	}
}

// attachPrograms starts the programs of projected events.
func (s *Source) attachPrograms() error {
	if s.cfg.Programs.Attach == nil {
		return nil
	}
	root := 0
	if s.tasks.workload != nil {
		root = s.tasks.workload.PID() // also of another thread, once it executes the command
	}
	return s.cfg.Programs.Attach(root)
}

// An expander shows the records of one stream in one buffer.
type expander struct {
	*Projection
	need   int // bytes of the sent record
	chunks [][]byte
	chunk  int // in use
	off    int // and how much of it
}

// chunkSize is how much memory for records is taken at once.
const chunkSize = 64 << 10

func newExpander(c *Projection) *expander {
	x := &expander{Projection: c, need: c.Skip}
	for _, k := range c.Copies {
		x.need = max(x.need, k.From+k.Size)
	}
	for _, off := range c.SampleMembers {
		x.need = max(x.need, off+8)
	}
	return x
}

// show makes the event's record from the sent one; nil if that is too short.
//
// Fast path: this runs for every sample of such a stream. The bytes between the
// fields are never written, so they stay zero.
func (x *expander) show(sent []byte) []byte {
	if len(sent) < x.need {
		return nil
	}
	if x.Size == 0 {
		return sent[x.Skip:x.recordEnd(sent)]
	}
	if x.chunk == len(x.chunks) {
		x.chunks = append(x.chunks, make([]byte, max(chunkSize, x.Size)))
	}
	raw := x.chunks[x.chunk][x.off : x.off+x.Size : x.off+x.Size]
	for i := range x.Copies {
		c := &x.Copies[i]
		switch c.Size {
		case 8:
			binary.LittleEndian.PutUint64(raw[c.To:], binary.LittleEndian.Uint64(sent[c.From:]))
		case 4:
			binary.LittleEndian.PutUint32(raw[c.To:], binary.LittleEndian.Uint32(sent[c.From:]))
		default:
			copy(raw[c.To:c.To+c.Size], sent[c.From:])
		}
	}
	if x.off += (x.Size + 7) &^ 7; x.off+x.Size > len(x.chunks[x.chunk]) {
		x.chunk, x.off = x.chunk+1, 0
	}
	return raw
}

// release gives the memory of all records back.
func (x *expander) release() { x.chunk, x.off = 0, 0 }

// projectedMembers are the context members in a sent record.
type projectedMembers struct{ members map[event.Member]int }

// Callchain implements event.Members: programs send none.
func (m *projectedMembers) Callchain(*event.Event) []uint64 { return nil }

// Member implements event.Members.
func (m *projectedMembers) Member(e *event.Event, f event.Member) (uint64, bool) {
	off, ok := m.members[f]
	if at := HeadSize + off; ok && e.Kind == event.Sample && at+8 <= len(e.Rec) {
		return le64(e.Rec, at), true
	}
	return 0, false
}
