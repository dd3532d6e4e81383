package tracedat

import (
	"fmt"
	"ppscript/runtime/source/bytecursor"
)

// This file reads the pages of one CPU. They are adjacent in the file, or in
// chunks that are compressed separately.

// pages reads the pages of one CPU.
type pages struct {
	section
	form   layout
	reader *Reader
	buffer int
	page   page
	head   Record // the next record, unless taken
	taken  bool
	// With stacks: the record after the head, if waits. It is not the head's
	// stack.
	ahead  Record
	waits  bool
	copied []byte // a copy of the head's data, if the next chunk would overwrite them

	whole    []byte // the pages of this chunk that are not read so far
	chunks   chunks
	released uint64 // bytes of the section that were passed to Release
}

// chunks are the compressed chunks of a section.
type chunks struct {
	remaining int
	rest      []byte
	out       []byte
}

// maxChunk bounds a decompressed chunk, in bytes. trace-cmd makes chunks of
// some hundred KiB.
const maxChunk = 64 << 20

func (p *pages) open() error {
	b := p.reader.file.b[p.off : p.off+p.size]
	if !p.compressed {
		p.whole = b
		return nil
	}
	// The size does not include the number of chunks, which precedes them.
	b = p.reader.file.b[p.off:]
	c := &bytecursor.Cursor{B: b[:min(uint64(len(b)), p.size+4)], At: int(p.off)}
	n := c.Count(8)
	if c.Err != nil {
		return c.Err
	}
	p.chunks = chunks{remaining: n, rest: c.B}
	var err error
	if p.reader.unzip == nil {
		p.reader.unzip, err = newUnzipper(p.reader.file.unzip, maxChunk)
	}
	return err
}

// advance goes on to the next record or gap; false at the end.
func (p *pages) advance() bool {
	p.taken = false
	if p.waits {
		p.head, p.waits = p.ahead, false
	} else if !p.read(&p.head) {
		return false
	}
	if p.reader.stacks.id != 0 {
		p.lookAhead()
	}
	return true
}

// read reads the next record or gap; false at the end.
func (p *pages) read(to *Record) bool {
	for {
		data := p.page.next()
		if data == nil {
			if p.page.damaged && !p.page.short {
				p.reader.Damaged++
			}
			p.page.damaged = false
			if !p.nextPage() {
				return false
			}
			if p.page.missed {
				p.gap(to)
				return true
			}
			continue
		}
		if len(data) < recordHead {
			p.reader.Short++
			continue
		}
		*to = Record{Time: p.time(), Data: data, CPU: p.cpu, Buffer: p.buffer}
		return true
	}
}

func (p *pages) time() int64 { return p.reader.file.clock.time(p.page.time, p.cpu) }

// gap makes the Record for the records that are missing before the page.
func (p *pages) gap(to *Record) {
	n := p.page.missing
	if n == 0 {
		p.reader.Gaps++
		n = 1
	}
	p.reader.Missed += n
	*to = Record{Time: p.time(), Missed: n, CPU: p.cpu, Buffer: p.buffer}
}

// nextPage goes on to the next page; false at the end.
func (p *pages) nextPage() bool {
	for {
		if len(p.whole) == 0 && !p.nextChunk() {
			return false
		}
		n := min(len(p.whole), p.form.size)
		b := p.whole[:n:n]
		p.whole = p.whole[n:]
		if p.page.open(b, &p.form) {
			p.giveBack()
			return true
		}
	}
}

// giveBack passes parts of the file that are not read again to Release, in
// pieces of 8 MiB or more.
func (p *pages) giveBack() {
	const each = 8 << 20
	at := p.size - uint64(len(p.whole))
	if p.compressed {
		at = p.size - uint64(len(p.chunks.rest))
	}
	at -= min(at, uint64(p.form.size)) // without the page that is being read
	if p.reader.Release != nil && at-min(at, p.released) >= each {
		p.reader.Release(int(p.off+p.released), int(p.off+at))
		p.released = at
	}
}

// nextChunk decompresses the next chunk.
func (p *pages) nextChunk() bool {
	z := &p.chunks
	for z.remaining > 0 {
		z.remaining--
		data, size, err := z.take()
		if err == nil {
			z.out, err = p.reader.unzip.unzip(z.out, data, size)
		}
		if err != nil {
			z.remaining = 0
			p.reader.fail(p, err)
			return false
		}
		if len(z.out) > 0 {
			p.whole = z.out
			return true
		}
	}
	return false
}

// take returns the next chunk, still compressed, and its size when
// decompressed.
func (z *chunks) take() (data []byte, size int, err error) {
	c := &bytecursor.Cursor{B: z.rest}
	packed, whole := c.U32(), c.U32()
	data = c.Take(uint64(packed))
	z.rest = c.B
	if c.Err == nil && whole > maxChunk {
		c.Err = fmt.Errorf("chunk: got %d bytes, want at most %d", whole, maxChunk)
	}
	return data, int(whole), c.Err
}

// toLast moves to the last page that may have a record.
func (p *pages) toLast() {
	if !p.compressed {
		n := len(p.whole) / p.form.size
		p.whole = p.whole[max(0, n-1)*p.form.size:]
		return
	}
	for p.chunks.remaining > 1 {
		if _, _, err := p.chunks.take(); err != nil {
			p.chunks.remaining = 0
			return
		}
		p.chunks.remaining--
	}
}
