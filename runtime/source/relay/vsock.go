package relay

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// This file implements sockets between a host and its guests (vsock), which
// package net lacks.

const anyCID = unix.VMADDR_CID_ANY

// acceptTime is the interval at which a listener checks whether it was closed,
// in ms.
const acceptTime = 100

type vsockAddr string

func (vsockAddr) Network() string  { return "vsock" }
func (a vsockAddr) String() string { return string(a) }

type vsockListener struct {
	fd     int
	addr   vsockAddr
	closed atomic.Bool
	done   chan struct{} // closed when Accept no longer uses fd
}

func listenVsock(a address) (net.Listener, error) {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrVM{CID: uint32(a.cid), Port: uint32(a.port)}); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	if err := unix.Listen(fd, maxClients); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("listen", err)
	}
	return &vsockListener{
		fd: fd, addr: vsockAddr(fmt.Sprintf("vsock:%d", a.port)), done: make(chan struct{}),
	}, nil
}

// Accept is called by one goroutine, until it fails.
func (l *vsockListener) Accept() (net.Conn, error) {
	for !l.closed.Load() {
		fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, acceptTime); n == 0 || err != nil {
			continue
		}
		fd, from, err := unix.Accept4(l.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
		case unix.EAGAIN, unix.EINTR, unix.ECONNABORTED:
			continue
		default:
			return nil, os.NewSyscallError("accept4", err)
		}
		name := "vsock"
		if vm, ok := from.(*unix.SockaddrVM); ok {
			name = fmt.Sprintf("vsock:%d:%d", vm.CID, vm.Port)
		}
		return &fileConn{os.NewFile(uintptr(fd), name), l.addr}, nil
	}
	close(l.done)
	return nil, net.ErrClosed
}

// Close waits until Accept no longer uses the socket.
func (l *vsockListener) Close() error {
	l.closed.Store(true)
	<-l.done
	return unix.Close(l.fd)
}

// Addr implements net.Listener.
func (l *vsockListener) Addr() net.Addr { return l.addr }

// A fileConn is a connection of a kind that package net lacks.
type fileConn struct {
	*os.File
	local vsockAddr
}

// LocalAddr and RemoteAddr implement net.Conn.
func (c *fileConn) LocalAddr() net.Addr  { return c.local }
func (c *fileConn) RemoteAddr() net.Addr { return vsockAddr(c.Name()) }

func dialVsock(a address) (*os.File, error) {
	if a.cid == anyCID {
		a.cid = unix.VMADDR_CID_HOST
	}
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrVM{CID: uint32(a.cid), Port: uint32(a.port)}); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	return os.NewFile(uintptr(fd), a.text), nil
}
