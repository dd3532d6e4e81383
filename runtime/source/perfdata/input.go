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

// longWait bounds one wait of a reader without a time limit.
const longWait = 10 * time.Second

var le = binary.LittleEndian

// An input is the byte stream that is split into records: a mapping, a pipe
// read into buffers, or the converted records of a trace.dat.
type input interface {
	// window returns the bytes at the cursor: at least n, or the rest if the
	// input ends before. If a pipe brings fewer until the time until, it
	// returns errWait. buf is the buffer with the bytes, nil for a mapping.
	window(ctx context.Context, until time.Time, n int) (b []byte, buf *buffer, err error)
	// take moves the cursor by n bytes of the last window.
	take(n int)
	// off is the cursor as a file offset.
	off() uint64
	close() error
}

// errWait says that the time is over and not enough bytes have arrived.
var errWait = errors.New("no input yet")

// A buffer is heap memory of which records are views. It is reused when its
// references are dropped.
type buffer struct {
	b    []byte // the filled part
	refs int    // references: its writer, and each run or index entry in it
	slot int    // index in orderedRings.bufs, or -1
}

// bufferSize is the usual size of a buffer: several times the largest record
// (64 KiB), and small enough to stay in the second-level cache.
const bufferSize = 256 << 10

// A pool keeps up to maxFree unused buffers for reuse.
type pool struct {
	free []*buffer
	live int // bytes in buffers that are in use
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

// mappedInput reads a part of a mapping, or of other memory that stays valid.
type mappedInput struct {
	b     []byte // the whole file
	all   []byte // for a directory: all its files; else nil
	parts []part // the files that are not completely read; nil for a single file
	at    int
	end   int
	unmap func() error
	gone  int // offset up to which pages were freed
}

// giveBack is the number of bytes of a mapping that are read before their pages
// are freed, so that a long recording does not fill the memory of this process.
// The pages stay in the kernel's page cache, and are mapped again if they are
// read again.
const giveBack = 32 << 20

// done frees the pages before off, which will not be read again soon.
func (m *mappedInput) done(off int) {
	off &^= os.Getpagesize() - 1
	if m.unmap == nil || off-m.gone < giveBack {
		return
	}
	_ = unix.Madvise(m.b[m.gone:off], unix.MADV_DONTNEED)
	m.gone = off
}

// forget frees the pages of a part of the mapping that will not be read again
// soon.
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

// memory returns the bytes to which offsets refer.
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
	// Read ahead. If the kernel refuses, reading is only slower.
	_ = unix.Madvise(b, unix.MADV_SEQUENTIAL)
	return &mappedInput{b: b, end: len(b), unmap: func() error { return unix.Munmap(b) }}, nil
}

// pipeInput reads a stream into buffers. A record is never split: an incomplete record at the end
// of a buffer is copied to the next buffer.
type pipeInput struct {
	r     io.Reader
	file  *os.File // r, if it is a file
	pool  *pool
	buf   *buffer
	at    int // cursor in buf
	taken uint64
	eof   bool
	poll  *poll.Poller // waits for file; nil if file cannot be polled
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
		// A sender of single bytes must not extend the time.
		if len(p.buf.b)-p.at < n && !p.eof && p.file != nil && !until.IsZero() && !time.Now().Before(until) {
			return nil, nil, errWait
		}
	}
}

// begin inserts bytes that have already been read.
func (p *pipeInput) begin(b []byte) {
	if len(b) > 0 {
		p.buf = p.pool.get(len(b))
		p.buf.b = append(p.buf.b, b...)
	}
}

// fill reads once, into a new buffer if the rest of this one is too small. A
// large n may be a damaged size, so the memory grows only with the bytes that
// arrive.
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

// await makes the poller for wait. Files that epoll does not support are always ready.
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

// wait waits until there are bytes to read, until the time until, until ctx
// ends, or until Wake.
func (p *pipeInput) wait(ctx context.Context, until time.Time) error {
	if p.file == nil {
		return ctx.Err()
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.poll == nil {
			return nil // the file cannot be polled: let the read block
		}
		left := longWait
		if !until.IsZero() {
			left = max(0, min(time.Until(until), left))
		}
		come, err := p.poll.Wait(ctx, left)
		p.poll.Hung = p.poll.Hung[:0] // the read returns the end
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
