// Package ringbuf maps the ring buffers through which programs of the kernel send
// records (BPF_MAP_TYPE_RINGBUF). Packages perf and latetext read the records:
// each has a header of the kernel, and then the bytes that the program wrote.
package ringbuf

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The header of a record, in uapi/linux/bpf.h: the length and two flags, then
// the offset of the page in the buffer.
const (
	Header = 8       // BPF_RINGBUF_HDR_SZ
	Busy   = 1 << 31 // BPF_RINGBUF_BUSY_BIT: the record is being written
	Drop   = 1 << 30 // BPF_RINGBUF_DISCARD_BIT
)

// Pages are the parts of a mapped buffer, in the order of their addresses.
type Pages struct {
	Consumer []byte // page with the position up to which records were read
	Shared   []byte // page with the position of the next write; then the data, mapped twice in a row
	Data     unsafe.Pointer
	Mask     uint64 // position & Mask is the offset in the data
}

// Map maps a buffer of size bytes.
func Map(fd, size int) (p Pages, err error) {
	page := os.Getpagesize()
	if p.Consumer, err = unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return p, err
	}
	if p.Shared, err = unix.Mmap(fd, int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return p, errors.Join(err, unix.Munmap(p.Consumer))
	}
	p.Data, p.Mask = unsafe.Pointer(&p.Shared[page]), uint64(size-1)
	return p, nil
}

// Unmap unmaps the buffer. Records become invalid.
func (p *Pages) Unmap() error {
	if p.Shared == nil {
		return nil
	}
	err := errors.Join(unix.Munmap(p.Shared), unix.Munmap(p.Consumer))
	p.Consumer, p.Shared, p.Data = nil, nil, nil
	return err
}

// Head returns the position of the next write. The load is ordered before the
// reads of the records.
func (p *Pages) Head() uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(p.Shared))))
}

// Consume tells the kernel that all records before pos were read, so that their
// memory can be reused.
func (p *Pages) Consume(pos uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(p.Consumer))), pos)
}

// writtenTime bounds the wait for an incomplete record. Its writer cannot be
// preempted, but the virtual machine in which it runs may be.
const writtenTime = time.Second

// Written waits until a record is complete, and returns its header.
//
// Slow path: records are incomplete for nanoseconds.
func Written(header *uint32) uint32 {
	for start := time.Now(); ; {
		h := atomic.LoadUint32(header)
		if h&Busy == 0 || time.Since(start) > writtenTime {
			return h
		}
		time.Sleep(time.Microsecond)
	}
}
