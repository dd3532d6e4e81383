package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file has the system calls on event descriptors.

// An eventFD is the descriptor of an event that is open on one place.
type eventFD struct {
	fd     int
	id     uint64
	stream int // index of the event in Config.Events, -1 for the dummy
	ring   int
	place  place
	counts bool // PERF_FORMAT_LOST works
	// base has the sums of earlier counters of the place: value, time enabled,
	// time running.
	base [3]uint64
}

func ioctlID(fd int) (uint64, error) {
	var id uint64
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID,
		uintptr(unsafe.Pointer(&id)))
	if errno != 0 {
		return 0, fmt.Errorf("read event id: %w", errno)
	}
	return id, nil
}

// readLost reads the number of lost records of the event, which must be opened
// with PERF_FORMAT_ID and PERF_FORMAT_LOST.
func (f *eventFD) readLost() (uint64, error) {
	var b [24]byte // value, id, lost
	n, err := unix.Read(f.fd, b[:])
	switch {
	case err != nil:
		return 0, err
	case n != len(b):
		return 0, errors.New("short read of an event")
	}
	return binary.LittleEndian.Uint64(b[16:]), nil
}
