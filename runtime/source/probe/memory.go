package probe

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file reads the memory of observed processes. It is read when the event
// is processed, microseconds to milliseconds after it happened, so the memory
// may have changed. A process that has ended has no memory.

// maxText bounds a text that an argument points to, in bytes.
const maxText = 256

// readMemory fills dst from the memory of e's process.
func readMemory(e *event.Event, dst []byte, addr uint64) bool {
	if e.TID <= 0 || addr == 0 || addr >= 1<<63 || len(dst) == 0 {
		return false
	}
	local := []unix.Iovec{{Base: &dst[0], Len: uint64(len(dst))}}
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(dst)}}
	n, err := unix.ProcessVMReadv(int(e.TID), local, remote, 0)
	if (err != nil || n != len(dst)) && e.PID > 0 && e.PID != e.TID {
		// The thread has ended, but its process may not have.
		n, err = unix.ProcessVMReadv(int(e.PID), local, remote, 0)
	}
	return err == nil && n == len(dst)
}

// readText reads a text that ends with NUL, page by page, since the next page
// may not be mapped. It returns event.UserTextFault, like programs of the
// kernel, if the text cannot be read, and "" for a nil pointer.
func readText(e *event.Event, addr uint64) string {
	if addr == 0 {
		return ""
	}
	var buf [maxText]byte
	for n := 0; n < maxText; {
		part := min(maxText-n, int(4096-(addr+uint64(n))%4096))
		if !readMemory(e, buf[n:n+part], addr+uint64(n)) {
			if n == 0 {
				return event.UserTextFault
			}
			return string(buf[:n])
		}
		if i := bytes.IndexByte(buf[n:n+part], 0); i >= 0 {
			return string(buf[:n+i])
		}
		n += part
	}
	return string(buf[:])
}

// userStack is implemented by the members of perf samples.
type userStack interface {
	UserStack(e *event.Event) []byte
}

// stackBytes is the size of the sampled part of the stack, for arguments on the
// stack.
const stackBytes = 512

// loadUser reads size bytes at addr: from the sampled part of the stack, which
// has the values at the time of the event, if they are in it, else from the
// process.
func loadUser(e *event.Event, addr, sp uint64, size int) (uint64, bool) {
	var buf [8]byte
	if s, ok := e.Stream.Members.(userStack); ok && sp != 0 && addr >= sp {
		if stack := s.UserStack(e); addr-sp <= uint64(len(stack)) &&
			uint64(size) <= uint64(len(stack))-(addr-sp) {
			copy(buf[:size], stack[addr-sp:])
			return binary.LittleEndian.Uint64(buf[:]), true
		}
	}
	if !readMemory(e, buf[:size], addr) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(buf[:]), true
}
