package tracedat

import (
	"container/heap"
	"fmt"
)

// A Record is one record of a ring buffer, or a gap between two.
type Record struct {
	Time   int64 // ns, if File.Unit is empty
	Data   []byte
	Stack  []byte // addresses of 64 bits, innermost first; nil without Reader.WithStacks
	Missed uint64 // of a gap: how many records are missing, at least; 0: this is a record
	CPU    int32
	Buffer int // position in File.Buffers
}

// ID is which event it is of: the ID of a format.
func (r *Record) ID() uint16 { return le.Uint16(r.Data) }

// TID is the thread that made it.
func (r *Record) TID() int32 { return int32(le.Uint32(r.Data[4:])) }

// A Reader gives the records of all buffers and CPUs, merged by time. It is used
// by one goroutine.
type Reader struct {
	Tally
	file   *File
	stacks stackKind
	// Release, if set, is told of the parts of the file that are not read again.
	Release func(from, to int)
	heads   heads
	unzip   *unzipper // nil unless records are compressed
	err     error
}

// A Tally counts what went wrong while records were read.
type Tally struct {
	Missed  uint64 // records in gaps
	Gaps    uint64 // of unknown size; each counts as one record
	Damaged uint64 // pages that could not be read to their end
	Short   uint64 // records without the members that all have
}

// Reader begins to read the records.
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

// Err is why records are missing, if a part of the file is damaged.
func (r *Reader) Err() error { return r.err }

// fail notes the first damage.
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

// First is the time of the first record, 0 if there is none.
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

// Last is the time of the last record, 0 if there is none. It reads the last pages.
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

// Kinds are the IDs of the events that each buffer has records of. It reads them all.
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

// heads are the next records of all CPUs, the earliest first.
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
