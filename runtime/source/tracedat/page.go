package tracedat

// This file splits a page of the kernel's ring buffer into records. The layouts
// are struct buffer_data_page and struct ring_buffer_event of the kernel's
// kernel/trace/ring_buffer.c and include/linux/ring_buffer.h.
//
// A page has the time of its first record, the number of used bytes, and then
// records. Each record begins with a word of 32 bits: 5 bits of type or length,
// 27 bits with the ns since the previous record.

const (
	typePadding    = 29 // no record, up to the end of the page or for a length
	typeTimeExtend = 30 // 27+32 bits of ns to add
	typeTimeStamp  = 31 // 59 bits of the time itself

	timeBits   = 27
	stampBits  = 59
	recordHead = 8 // bytes of a record's head: type, flags, preemption count, pid

	commitSize   = 1<<27 - 1
	commitMissed = 1 << 31 // records are missing before this page
	commitStored = 1 << 30 // their number follows the last record
)

// A layout has the offsets of the parts of a page.
type layout struct {
	size   int // of a page
	commit place
	data   int
}

func (f *File) layout(b *Buffer) layout {
	l := layout{size: f.pageSize(b), commit: place{8, 8}, data: 16}
	if f.LongSize == 4 {
		l.commit.size, l.data = 4, 12
	}
	if p, ok := pageField(f.HeaderPage, "commit"); ok && (p.size == 4 || p.size == 8) && p.offset >= 8 {
		l.commit = p
	}
	if p, ok := pageField(f.HeaderPage, "data"); ok {
		l.data = p.offset
	}
	if l.data < l.commit.offset+l.commit.size || l.data >= l.size {
		l.commit, l.data = place{8, 8}, 16
	}
	return l
}

// A page is a page of the ring buffer that is being split into records.
type page struct {
	rest    []byte // the bytes that are not split so far
	time    uint64 // of the last record
	missed  bool
	missing uint64 // how many, 0 if unknown
	damaged bool   // the rest of the page cannot be split
	short   bool   // its end is not in the file
}

// open starts with a page; false if it is too short to have a record.
func (p *page) open(b []byte, l *layout) bool {
	*p = page{short: len(b) < l.size}
	if len(b) < l.data {
		return false
	}
	p.time = le.Uint64(b)
	commit := le.Uint32(b[l.commit.offset:])
	used := int(commit & commitSize)
	data := b[l.data:]
	if used > len(data) {
		p.damaged = true
		used = len(data)
	}
	if commit&commitMissed != 0 {
		p.missed = true
		if tail := data[used:]; commit&commitStored != 0 && len(tail) >= l.commit.size {
			p.missing = le.Uint64(append(append(make([]byte, 0, 8), tail[:l.commit.size]...), 0, 0, 0, 0)[:8])
		}
	}
	p.rest = data[:used]
	return true
}

// next returns the next record and sets p.time to its time; nil at the end of
// the page.
//
// Fast path: no allocation.
func (p *page) next() []byte {
	for len(p.rest) >= 4 {
		word := le.Uint32(p.rest)
		kind, delta := word&31, uint64(word>>5)
		if kind > 0 && kind < typePadding {
			p.time += delta
			return p.cut(4, 4*int(kind))
		}
		if kind == typePadding && delta == 0 || len(p.rest) < 8 {
			p.damaged = kind != typePadding
			break
		}
		second := le.Uint32(p.rest[4:])
		switch kind {
		case typeTimeExtend:
			p.time += uint64(second)<<timeBits + delta
			p.rest = p.rest[8:]
		case typeTimeStamp:
			p.stamp(uint64(second)<<timeBits + delta)
			p.rest = p.rest[8:]
		case typePadding:
			p.time += delta
			if uint64(second)+4 > uint64(len(p.rest)) {
				p.rest = nil // the padding reaches to the end of the page
				return nil
			}
			p.rest = p.rest[second+4:]
		default:
			p.time += delta
			if second < 4 || uint64(second) > uint64(len(p.rest)) {
				p.damaged = true
				p.rest = nil
				return nil
			}
			return p.cut(8, int(second)-4)
		}
	}
	p.rest = nil
	return nil
}

// cut returns a record of size bytes that begins after head bytes, and removes
// it from p.rest.
func (p *page) cut(head, size int) []byte {
	end := head + size
	if end > len(p.rest) {
		p.damaged = true
		p.rest = nil
		return nil
	}
	out := p.rest[head:end:end]
	p.rest = p.rest[min((end+3)&^3, len(p.rest)):]
	return out
}

// stamp sets the time from its lower 59 bits.
func (p *page) stamp(low uint64) {
	const high = uint64(1<<(64-stampBits)-1) << stampBits
	t := p.time&high | low
	if t < p.time && p.time&high != 0 {
		t += 1 << stampBits
	}
	p.time = t
}
