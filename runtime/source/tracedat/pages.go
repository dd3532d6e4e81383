package tracedat

import (
	"fmt"
	"ppscript/runtime/source/bytecursor"
)

// This file reads the pages of one CPU, which lie in the file one after the
// other, or in chunks that are compressed each for itself.

// pages are the pages of one CPU.
type pages struct {
	section
	form   layout
	reader *Reader
	buffer int
	page   page
	head   Record // the record that comes next, if it is not taken
	taken  bool
	// With stacks: the record behind the head, if it is not the head's stack.
	ahead  Record
	waits  bool
	copied []byte // the data of the head, where these would not stay

	whole    []byte // pages that are not read yet, of this chunk
	chunks   chunks
	released uint64 // of the section
}

// chunks are compressed.
type chunks struct {
	remaining int
	rest      []byte
	out       []byte
}

// maxChunk bounds a chunk. trace-cmd makes them of some hundred KiB.
const maxChunk = 64 << 20

func (p *pages) open() error {
	b := p.reader.file.b[p.off : p.off+p.size]
	if !p.compressed {
		p.whole = b
		return nil
	}
	// The size counts the chunks without their number in front of them.
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

// gap makes the record of what is missing in front of the page.
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

// giveBack tells of pages that are not read again, some at a time.
func (p *pages) giveBack() {
	const each = 8 << 20
	at := p.size - uint64(len(p.whole))
	if p.compressed {
		at = p.size - uint64(len(p.chunks.rest))
	}
	at -= min(at, uint64(p.form.size)) // the page that is read now
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

// take takes the next chunk as it lies in the file.
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

// toLast goes to the last page that may have a record.
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
