package tracedat

import (
	"container/heap"
	"fmt"
)

// A Record is one record of a ring buffer, or a gap between two records.
type Record struct {
	Time   int64 // ns, if File.Unit is empty
	Data   []byte
	Stack  []byte // addresses of 64 bits, innermost first; nil without Reader.WithStacks
	Missed uint64 // 0 for a record; for a gap, the least number of missing records
	CPU    int32
	Buffer int // position in File.Buffers
}

// ID returns the number of the record's event, as in the event's format.
func (r *Record) ID() uint16 { return le.Uint16(r.Data) }

// TID returns the thread that wrote the record.
func (r *Record) TID() int32 { return int32(le.Uint32(r.Data[4:])) }

// A Reader returns the records of all buffers and CPUs, merged by time. It is
// used by one goroutine.
type Reader struct {
	Tally
	file   *File
	stacks stackKind
	// Release, if set, is called with parts of the file that are not read again,
	// so that their memory can be freed.
	Release func(from, to int)
	heads   heads
	unzip   *unzipper // nil unless records are compressed
	err     error
}

// A Tally counts faults while records are read.
type Tally struct {
	Missed  uint64 // records in gaps
	Gaps    uint64 // gaps of unknown size; each counts as one record in Missed
	Damaged uint64 // pages that could not be read to their end
	Short   uint64 // records that are shorter than the head of every record
}

// Reader returns a new Reader at the first record.
func (f *File) Reader() *Reader {
	r := &Reader{file: f}
	for i := range f.Buffers {
		b := &f.Buffers[i]
		for j := range b.cpus {
			p := &pages{reader: r, section: b.cpus[j], form: f.layout(b), buffer: i}
			if err := p.open(); err != nil {
				r.fail(p, err)
				continue
			}
			if p.advance() {
				r.heads = append(r.heads, p)
			}
		}
	}
	heap.Init(&r.heads)
	return r
}

// Next reads a record; false at the end. Its Data are valid until the next call.
//
// Fast path: no allocation; the heap has as many entries as there are CPUs.
func (r *Reader) Next(rec *Record) bool {
	if len(r.heads) == 0 {
		return false
	}
	p := r.heads[0]
	if p.taken {
		if p.advance() {
			heap.Fix(&r.heads, 0)
		} else {
			heap.Pop(&r.heads)
		}
		if len(r.heads) == 0 {
			return false
		}
		p = r.heads[0]
	}
	p.taken = true
	*rec = p.head
	return true
}

// Err returns the first error if a part of the file is damaged, so that records
// are missing.
func (r *Reader) Err() error { return r.err }

// fail keeps the first error.
func (r *Reader) fail(p *pages, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("records of CPU %d: %w", p.cpu, err)
	}
}

// Close ends reading.
func (r *Reader) Close() {
	if r.unzip != nil {
		r.unzip.close()
	}
	r.heads, r.unzip = nil, nil
}

// First returns the time of the first record, 0 if there is none.
func (f *File) First() int64 {
	r := f.Reader()
	defer r.Close()
	for rec := (Record{}); r.Next(&rec); {
		if rec.Missed == 0 {
			return rec.Time
		}
	}
	return 0
}

// Last returns the time of the last record, 0 if there is none. It reads only the
// last pages.
func (f *File) Last() (last int64) {
	r := &Reader{file: f}
	defer r.Close()
	for i := range f.Buffers {
		b := &f.Buffers[i]
		for j := range b.cpus {
			p := &pages{reader: r, section: b.cpus[j], form: f.layout(b), buffer: i}
			if p.open() != nil {
				continue
			}
			p.toLast()
			for p.advance() {
				if p.head.Missed == 0 {
					last = max(last, p.head.Time)
				}
			}
		}
	}
	return last
}

// Kinds returns, for each buffer, the IDs of the events that it has records of. It
// reads all records.
func (f *File) Kinds() []map[uint16]bool {
	kinds := make([]map[uint16]bool, len(f.Buffers))
	for i := range kinds {
		kinds[i] = map[uint16]bool{}
	}
	r := f.Reader()
	defer r.Close()
	for rec := (Record{}); r.Next(&rec); {
		if rec.Missed == 0 && !kinds[rec.Buffer][rec.ID()] {
			kinds[rec.Buffer][rec.ID()] = true
		}
	}
	return kinds
}

// heads is a heap of all CPUs by the time of their next record, the earliest
// first.
type heads []*pages

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	if h[i].head.Time != h[j].head.Time {
		return h[i].head.Time < h[j].head.Time
	}
	return h[i].cpu < h[j].cpu
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*pages)) }
func (h *heads) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	*h = (*h)[:last]
	return p
}
