package perfdata

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/poll"
)

// longWait is how long nobody looks at a reader that has no time to end.
const longWait = 10 * time.Second

var le = binary.LittleEndian

// An input is the byte stream that records are cut from: a mapping, a pipe
// read into buffers, or the records of a trace.dat.
type input interface {
	// window returns what lies at the cursor, at least n bytes of it unless
	// the input ends before (then the rest). It may return less, also
	// nothing, with errWait when a pipe is slow. buf is the buffer that the
	// bytes lie in, nil for a mapping.
	window(ctx context.Context, until time.Time, n int) (b []byte, buf *buffer, err error)
	// take moves the cursor behind n bytes of the last window.
	take(n int)
	// off is the cursor as a file offset.
	off() uint64
	close() error
}

// errWait says that the time is over and the pipe has brought nothing new.
var errWait = errors.New("no input yet")

// A buffer is heap memory that records are views of. It is reused when nobody
// refers to it any more.
type buffer struct {
	b    []byte // the filled part
	refs int    // its filler, and every run or index entry in it
	slot int    // of ordered.bufs
}

// bufferSize is the usual size of a buffer: several times the largest record
// (64 KiB), and small enough to stay in the second-level cache.
const bufferSize = 256 << 10

// A pool keeps buffers for reuse. At most maxFree wait in it.
type pool struct {
	free []*buffer
	live int // bytes in buffers that are referred to
}

const maxFree = 16

// get returns an empty buffer with room for n bytes and one reference.
func (p *pool) get(n int) *buffer {
	if n <= bufferSize && len(p.free) > 0 {
		b := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		b.b, b.refs, b.slot = b.b[:0], 1, -1
		p.live += cap(b.b)
		return b
	}
	b := &buffer{b: make([]byte, 0, max(n, bufferSize)), refs: 1, slot: -1}
	p.live += cap(b.b)
	return b
}

// unref drops one reference to b.
func (p *pool) unref(b *buffer) {
	b.refs--
	if b.refs > 0 {
		return
	}
	p.live -= cap(b.b)
	if cap(b.b) == bufferSize && len(p.free) < maxFree {
		p.free = append(p.free, b)
	}
}

// mappedInput is a part of a mapping, or of any memory that stays.
type mappedInput struct {
	b     []byte // the whole file
	all   []byte // of a directory: all its files
	parts []part // that are not read to their end; nil for one file
	at    int
	end   int
	unmap func() error
	gone  int // up to here the pages were given back
}

// giveBack is how much of a mapping is read before its pages are given back,
// so that a long recording does not fill our memory. They stay in the page
// cache, and come back if they are read again.
const giveBack = 32 << 20

// done says that nothing before off will be read again soon.
func (m *mappedInput) done(off int) {
	off &^= os.Getpagesize() - 1
	if m.unmap == nil || off-m.gone < giveBack {
		return
	}
	_ = unix.Madvise(m.b[m.gone:off], unix.MADV_DONTNEED)
	m.gone = off
}

// forget says that a part of the mapping will not be read again soon.
func (m *mappedInput) forget(from, to int) {
	mask := os.Getpagesize() - 1
	if from, to = (from+mask)&^mask, to&^mask; m.unmap != nil && from < to {
		_ = unix.Madvise(m.b[from:to], unix.MADV_DONTNEED)
	}
}

func (m *mappedInput) window(_ context.Context, _ time.Time, n int) ([]byte, *buffer, error) {
	end := min(m.at+max(n, bufferSize), m.end)
	return m.b[m.at:end:end], nil, nil
}
func (m *mappedInput) take(n int)  { m.at += n }
func (m *mappedInput) off() uint64 { return uint64(m.at) }

// memory is the buffer that offsets count in.
func (m *mappedInput) memory() []byte {
	if m.all != nil {
		return m.all
	}
	return m.b
}
func (m *mappedInput) close() error {
	if m.unmap == nil {
		return nil
	}
	err := m.unmap()
	m.unmap, m.b, m.all, m.parts, m.at, m.end = nil, nil, nil, nil, 0, 0
	return err
}

// mapFile maps a regular file and closes it.
func mapFile(f *os.File) (*mappedInput, error) {
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() == 0 {
		return &mappedInput{}, nil
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	// Read ahead; a refusal costs nothing but time.
	_ = unix.Madvise(b, unix.MADV_SEQUENTIAL)
	return &mappedInput{b: b, end: len(b), unmap: func() error { return unix.Munmap(b) }}, nil
}

// pipeInput reads a stream into buffers. A record is never split over two: the part of one at the
// end of a buffer moves to the next.
type pipeInput struct {
	r     io.Reader
	file  *os.File // r, if it can be waited for
	pool  *pool
	buf   *buffer
	at    int // cursor in buf
	taken uint64
	eof   bool
	poll  *poll.Poller // waits for file; nil if that cannot be waited for
}

func (p *pipeInput) window(ctx context.Context, until time.Time, n int) ([]byte, *buffer, error) {
	for {
		have := 0
		if p.buf != nil {
			have = len(p.buf.b) - p.at
		}
		if p.eof || have >= n {
			if p.buf == nil {
				return nil, nil, nil
			}
			return p.buf.b[p.at:len(p.buf.b):len(p.buf.b)], p.buf, nil
		}
		if err := p.wait(ctx, until); err != nil {
			return nil, nil, err
		}
		if err := p.fill(n); err != nil {
			return nil, nil, err
		}
		// A sender that sends byte by byte does not keep us beyond the time.
		if len(p.buf.b)-p.at < n && !p.eof && p.file != nil && !until.IsZero() && !time.Now().Before(until) {
			return nil, nil, errWait
		}
	}
}

// begin puts bytes that have been read already in front.
func (p *pipeInput) begin(b []byte) {
	if len(b) > 0 {
		p.buf = p.pool.get(len(b))
		p.buf.b = append(p.buf.b, b...)
	}
}

// fill reads once, into a new buffer if the rest of this one is too small. A
// large n may be a damaged size, so memory grows only as bytes really come.
func (p *pipeInput) fill(n int) error {
	if p.buf != nil {
		n = min(n, 2*(len(p.buf.b)-p.at)+bufferSize)
	}
	const leastRead = 4 << 10
	if p.buf == nil || cap(p.buf.b)-p.at < n || cap(p.buf.b)-len(p.buf.b) < leastRead {
		next := p.pool.get(n + leastRead)
		if p.buf != nil {
			next.b = append(next.b, p.buf.b[p.at:]...)
			p.pool.unref(p.buf)
		}
		p.buf, p.at = next, 0
	}
	b := p.buf.b
	got, err := p.r.Read(b[len(b):cap(b)])
	p.buf.b = b[:len(b)+got]
	if errors.Is(err, io.EOF) {
		p.eof, err = true, nil
	}
	return err
}

// await has wait sleep until something comes. Files that no epoll takes are always ready.
func (p *pipeInput) await() {
	if p.file == nil {
		return
	}
	waits, err := poll.New(func() bool { return false })
	if err != nil {
		return
	}
	if waits.Add(int(p.file.Fd()), 0) != nil {
		_ = waits.Close()
		return
	}
	p.poll = waits
}

// ready reports that a read does not block.
func (p *pipeInput) ready() bool {
	fds := []unix.PollFd{{Fd: int32(p.file.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return n > 0 || err != nil && err != unix.EINTR
}

// wait waits until there is something to read, as long as the reader can be
// waited for; without a time until ctx ends, or somebody wakes it.
func (p *pipeInput) wait(ctx context.Context, until time.Time) error {
	if p.file == nil {
		return ctx.Err()
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.poll == nil {
			return nil // cannot be waited for: let the read block
		}
		left := longWait
		if !until.IsZero() {
			left = max(0, min(time.Until(until), left))
		}
		come, err := p.poll.Wait(ctx, left)
		p.poll.Hung = p.poll.Hung[:0] // the read tells
		switch {
		case err != nil:
			return err
		case come && p.ready():
			return nil
		case !until.IsZero() && (p.poll.Called || !time.Now().Before(until)):
			return errWait
		}
	}
}

func (p *pipeInput) take(n int) {
	p.at += n
	p.taken += uint64(n)
}
func (p *pipeInput) off() uint64 { return p.taken }
func (p *pipeInput) close() error {
	if p.buf != nil {
		p.pool.unref(p.buf)
		p.buf = nil
	}
	p.eof = true
	if p.poll != nil {
		_ = p.poll.Close()
	}
	if c, ok := p.r.(io.Closer); ok && p.file != os.Stdin {
		return c.Close()
	}
	return nil
}
